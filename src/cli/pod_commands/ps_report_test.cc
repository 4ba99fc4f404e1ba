#include "cli/pod_commands/ps_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::cli {
namespace {

using ::testing::ContainsRegex;

constexpr int64_t kSecond = 1'000'000'000;

PsRow Exited() {
  PsRow row;
  row.container.set_id("0123456789abcdef");
  row.container.set_state(cri::CONTAINER_EXITED);
  row.container.set_created_at(100 * kSecond);
  row.container.mutable_metadata()->set_name("app");
  row.pod.set_id("aa11");
  row.pod.mutable_metadata()->set_name("web");
  return row;
}

TEST(PsReport, AnEndIsTold) {
  PsRow row = Exited();
  row.status.set_id(row.container.id());
  row.status.set_exit_code(3);
  row.status.set_reason("Error");
  row.status.set_finished_at(150 * kSecond);
  EXPECT_THAT(PsTable({row}, /*ends=*/true, /*wide=*/false, absl::FromUnixSeconds(160)),
              ContainsRegex("app +web +Exited +3 +Error +10s ago"));
  const auto container = nlohmann::json::parse(*PsJson({row}))["containers"][0];
  EXPECT_EQ(container["exitCode"], 3);
  EXPECT_EQ(container["finishedAt"], "1970-01-01T00:02:30+00:00");
}

TEST(PsReport, WhatWasRemovedBeforeItsEndCouldBeAskedHasNoExitCode) {
  const PsRow row = Exited();
  EXPECT_THAT(PsTable({row}, /*ends=*/true, /*wide=*/false, absl::FromUnixSeconds(160)),
              ContainsRegex("app +web +Exited +- +- +- "));
  EXPECT_TRUE(nlohmann::json::parse(*PsJson({row}))["containers"][0]["exitCode"].is_null());
}

}  // namespace
}  // namespace plimsoll::cli
