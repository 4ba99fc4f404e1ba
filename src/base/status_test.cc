#include "base/status.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(ErrnoStatusTest, NamesOperationAndReason) {
  const absl::Status status = ErrnoStatus(EBUSY, "remove /x");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "remove /x: Device or resource busy");
  EXPECT_EQ(ErrnoOf(status), EBUSY);
}

TEST(ErrnoStatusTest, UnknownErrnoIsInternal) {
  EXPECT_EQ(ErrnoStatus(EXDEV, "x").code(), absl::StatusCode::kInternal);
}

TEST(AnnotateTest, KeepsCodeAndErrno) {
  const absl::Status status = Annotate(ErrnoStatus(ENOENT, "open a"), "container c");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "container c: open a: No such file or directory");
  EXPECT_EQ(ErrnoOf(status), ENOENT);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "x").ok());
}

TEST(AlsoSayTest, WhatFailedComesFirst) {
  const absl::Status status = AlsoSay(ErrnoStatus(ENOENT, "open a"), "and b stays: it is busy");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "open a: No such file or directory; and b stays: it is busy");
  EXPECT_EQ(ErrnoOf(status), ENOENT);
  EXPECT_TRUE(AlsoSay(absl::OkStatus(), "x").ok());
}

TEST(AlsoNotSetBackTest, OnlyAnUndoThatFailedIsSaid) {
  const absl::Status failed = ErrnoStatus(EIO, "write a");
  EXPECT_EQ(AlsoNotSetBack(failed, absl::OkStatus()), failed);
  EXPECT_EQ(AlsoNotSetBack(failed, absl::NotFoundError("no cgroup")), failed);
  EXPECT_EQ(AlsoNotSetBack(failed, absl::InternalError("b is busy")).message(),
            "write a: Input/output error; and not set back: b is busy");
}

TEST(BothErrorsTest, TheFirstDecidesTheCode) {
  const absl::Status first = absl::NotFoundError("one");
  const absl::Status second = absl::InternalError("two");
  EXPECT_EQ(BothErrors(first, second), absl::NotFoundError("one; two"));
  EXPECT_EQ(BothErrors(absl::OkStatus(), second), second);
  EXPECT_EQ(BothErrors(first, absl::OkStatus()), first);
}

TEST(ErrnoOfTest, ZeroWithoutErrno) {
  EXPECT_EQ(ErrnoOf(absl::NotFoundError("x")), 0);
}

}  // namespace
}  // namespace plimsoll
