// Runs many pods, ten at once, with random operations in each, while lists are made and one stream
// of events is followed; then looks for anything lost, left over or grown.
//
//   soak_test --pods 2000 --seed 1 --max-growth 5
//
// The seed decides each pod's operations, and so reproduces a fault with good odds; the machine
// decides how the pods' steps interleave.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <random>

#include "base/dir_for_test.h"
#include "base/status.h"
#include "soak/own_network.h"
#include "soak/soak.h"

namespace plimsoll::testing {
namespace {

struct Flags {
  SoakOptions soak;
  double seconds = 0;
  double max_growth_percent = 0;
  std::string network;  // "bridge", or a file
  std::string json;
};

absl::Status SetUpNetwork(const Flags& flags, const TestDir& directory, SoakOptions* options) {
  // Always: a listener in a pod on the daemon's own network must not meet another's port.
  PLIMSOLL_RETURN_IF_ERROR(EnterOwnNetwork());
  if (flags.network.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(
      options->network_config,
      WriteNetwork(directory.path(), flags.network == "bridge" ? "" : flags.network));
  options->has_network = true;
  return absl::OkStatus();
}

// True if everything is in order.
bool Run(const Flags& flags) {
  SoakOptions options = flags.soak;
  if (flags.seconds > 0) options.most = absl::Seconds(flags.seconds);
  options.max_growth = flags.max_growth_percent / 100;
  const TestDir directory;
  absl::Status status = SetUpNetwork(flags, directory, &options);
  if (!status.ok()) {
    std::printf("FAULT: %s\n", status.ToString().c_str());
    return false;
  }
  Soak soak(options);
  status = soak.Run();
  if (!status.ok()) std::printf("FAULT: %s\n", status.ToString().c_str());
  const SoakReport report = soak.report();
  if (!status.ok() || report.faults > 0) {
    std::printf("--- the daemon's log:\n%s---\n", soak.LogTail().c_str());
  }
  std::fputs(ToTable(report).c_str(), stdout);
  if (!flags.json.empty()) {
    std::FILE* file = std::fopen(flags.json.c_str(), "w");
    if (file == nullptr || std::fputs(ToJson(report).c_str(), file) < 0 || std::fclose(file) != 0) {
      std::printf("FAULT: can't write %s\n", flags.json.c_str());
      return false;
    }
  }
  return status.ok() && report.faults == 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  SoakOptions& soak = flags.soak;
  CLI::App app("Lives through many pods and looks for losses, leftovers and growth.", "soak_test");
  app.add_option("--seed", soak.seed, "seed of the random operations; 0: a random one");
  app.add_option("--pods", soak.pods, "pods in all")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--at-once", soak.at_once, "pods at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rounds", soak.rounds, "rounds of equal size; memory is measured after each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", flags.seconds, "time after which no pod is started; 0: no limit")
      ->capture_default_str();
  app.add_option("--at-least", soak.at_least,
                 "pods that must have lived by that time; 0: all of them")
      ->capture_default_str();
  app.add_option("--max-growth", flags.max_growth_percent,
                 "limit, in per cent, of the growth of the daemon's resident memory from the "
                 "first tenth of the pods to the end; 0: the growth is only shown")
      ->capture_default_str();
  app.add_option("--network", flags.network,
                 "pods have networks of their own: \"bridge\", or a file with a network "
                 "configuration list; default: the daemon's network, with a loopback only");
  app.add_option("--json", flags.json, "write the report to this file, too");
  CLI11_PARSE(app, argc, argv);
  if (flags.max_growth_percent > 0 && soak.rounds < 2) {
    std::puts(
        "--max-growth needs --rounds 2 or more: one look at the daemon's memory shows no growth");
    return 2;
  }
  if (geteuid() != 0) {
    std::puts("skipped: containers need root");
    return 77;
  }
  if (soak.seed == 0) soak.seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(soak.seed));
  std::fflush(stdout);
  const bool good = Run(flags);
  if (!good) {
    std::printf("again: soak_test --seed %llu --pods %d --at-once %d%s%s\n",
                static_cast<unsigned long long>(soak.seed), soak.pods, soak.at_once,
                flags.network.empty() ? "" : " --network ", flags.network.c_str());
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest();  // the harness expects it
  return plimsoll::testing::Main(argc, argv);
}
