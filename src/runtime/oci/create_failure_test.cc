#include "runtime/oci/create_failure.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status UnknownLabel() {
  return absl::InternalError("crun: write file `/proc/thread-self/attr/exec`: Invalid argument");
}

// A kernel that enforces a policy is in a virtual machine only (tests/vm/selinux_test.cc).
TEST(CreateFailure, ALabelThatThePolicyDoesNotKnow) {
  ContainerSpec spec;
  spec.name = "web";
  const linux::SelinuxOptions asked = {.type = "nothing_t"};
  const absl::Status told = TranslateCreateFailure(UnknownLabel(), spec, asked);
  EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the SELinux policy of this machine"),
                    HasSubstr("has no label with type nothing_t;"), HasSubstr("/attr/exec")));
}

TEST(CreateFailure, ALabelOfTheMachinesOwnIsNotTheClientsFault) {
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told = TranslateCreateFailure(UnknownLabel(), spec, linux::SelinuxOptions());
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the SELinux policy"), HasSubstr("lxc_contexts"),
                    HasSubstr("/attr/exec"), Not(HasSubstr("has no label with"))));
}

// AppArmor's profile is written to that file, too.
TEST(CreateFailure, WithoutALabelNothingIsSaidOfSelinux) {
  ContainerSpec spec;
  spec.name = "web";
  spec.security.selinux.type = "nothing_t";  // ignored where SELinux is off
  const absl::Status told = TranslateCreateFailure(UnknownLabel(), spec, std::nullopt);
  EXPECT_TRUE(absl::IsInternal(told)) << told;
  EXPECT_THAT(
      std::string(told.message()),
      AllOf(HasSubstr("container \"web\""), HasSubstr("/attr/exec"), Not(HasSubstr("SELinux"))));
}

// The launcher's message has its program's name, which isn't the reader's.
TEST(CreateFailure, AVolumeOfTheImageThatIsAFileNamesTheWayOut) {
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told = TranslateCreateFailure(
      absl::InternalError("plimsoll: open the image's VOLUME /etc/passwd: Not a directory"), spec,
      std::nullopt);
  EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("(open the image's VOLUME /etc/passwd: Not a directory)"),
                    HasSubstr("volumes: ignore")));
}

// The workload's own fault: its start fails, as that of a program that can't be executed.
TEST(CreateFailure, AFilterThatKillsTheStartIsARefusal) {
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status failure = absl::InternalError("read from the init process");
  EXPECT_EQ(RefusalOf(failure, spec, "/x", "/"), std::nullopt) << "not without a filter";
  spec.security.seccomp = {SecurityProfile::Type::kLocalhost, "/profiles/none.json"};
  EXPECT_THAT(RefusalOf(failure, spec, "/x", "/").value_or(""),
              AllOf(HasSubstr("container \"web\": "),
                    HasSubstr("seccomp profile \"/profiles/none.json\""), HasSubstr("execve")));
  EXPECT_EQ(RefusalOf(absl::InternalError("other"), spec, "/x", "/"), std::nullopt);
}

TEST(CreateFailure, AMountThatCanNotBeMadeIsNamed) {
  ContainerSpec spec;
  spec.name = "web";
  spec.mounts = {{.container_path = "/other", .host_path = "/x"},
                 {.container_path = "/data/./x/", .host_path = "/x"}};
  for (const char* words :
       {"crun: openat2 `data`: Not a directory",
        "openat2 `data`: Too many levels of symbolic links",
        "openat2 `data`: No such file or directory", "mkdir `/data/x`: Not a directory",
        "mount `/stage/volumes/1` to `data/x`: Not a directory"}) {
    const absl::Status told =
        TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt);
    EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
    EXPECT_THAT(std::string(told.message()),
                AllOf(HasSubstr("container \"web\": the mount at /data/x can't be made"),
                      HasSubstr(words)));
  }
  // The line names no mount that the client asked for.
  const absl::Status other = TranslateCreateFailure(
      absl::InternalError("openat2 `dat`: No such file or directory"), spec, std::nullopt);
  EXPECT_TRUE(absl::IsInternal(other)) << other;
  const absl::Status full = TranslateCreateFailure(
      absl::InternalError("plimsoll: make the place of the mount at /data/x: No space left on "
                          "device"),
      spec, std::nullopt);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
}

TEST(CreateFailure, WhatIsShortIsToldByItsCode) {
  ContainerSpec spec;
  spec.name = "web";
  const auto told = [&](const std::string& words) {
    return TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt);
  };
  const std::string full = "plimsoll: mount the root filesystem: No space left on device";
  EXPECT_TRUE(absl::IsResourceExhausted(told(full))) << told(full);
  const std::string memory = "OOM: the memory limit could be too low: read from sync socket";
  EXPECT_TRUE(absl::IsFailedPrecondition(told(memory))) << "the pod's";
  spec.resources.memory_limit_bytes = 1;
  EXPECT_TRUE(absl::IsInvalidArgument(told(memory))) << told(memory);
  const std::string device = "failed open()ing /dev/null: No such file or directory";
  EXPECT_TRUE(absl::IsInternal(told(device))) << told(device);
  spec.mounts.emplace_back().container_path = "/dev/";
  EXPECT_TRUE(absl::IsInvalidArgument(told(device))) << told(device);
}

TEST(CreateFailure, PathsThatCannotBeAreNotOurFault) {
  ContainerSpec spec;
  spec.name = "web";
  const auto told = [&](const std::string& words) {
    return TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt).code();
  };
  EXPECT_EQ(told("mkdir `/nnn`: File name too long"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(told("mount `/a` to `etc`: Not a directory"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(told("open `/a/b`: Is a directory"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(told("setgroups: Invalid argument"), absl::StatusCode::kInvalidArgument);
  // The launcher's message about our own files, and one about something else.
  EXPECT_EQ(told("plimsoll: mount `/run/x`: Not a directory"), absl::StatusCode::kInternal);
  EXPECT_EQ(told("mount `/a: Not a directory`: Input/output error"), absl::StatusCode::kInternal);
}

TEST(CreateFailure, AValueOfAGroupsFileIsTheClients) {
  ContainerSpec spec;
  spec.name = "web";
  spec.resources.unified["memory.high"] = "lots\n";
  const auto told = [&](const std::string& words) {
    return TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt);
  };
  const absl::Status refused = told("writing file `memory.high`: Invalid argument");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the kernel refuses \"lots\\n\" for memory.high of `unified`"));
  // A file of ours, and an error of another kind.
  EXPECT_TRUE(absl::IsInternal(told("writing file `cpu.max`: Invalid argument")));
  EXPECT_TRUE(absl::IsInternal(told("writing file `memory.high`: Input/output error")));
}

// crun's words (1.8.1 and 1.21), and runc's.
TEST(CreateFailure, AFileThatTheGroupLacksIsNamed) {
  ContainerSpec spec;
  spec.name = "web";
  spec.resources.unified["memori.high"] = "1";
  const auto told = [&](const std::string& words) {
    return TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt);
  };
  for (const char* words :
       {"the requested cgroup controller `memori` is not available",
        "controller `memori` is not available under /sys/fs/cgroup/pods/cgroup.controllers",
        "unified resource \"memori.high\" can't be set: controller \"memori\" not available",
        "msg=\"unified resource \\\"memori.high\\\" can't be set: controller \\\"memori\\\" not "
        "available\""}) {
    const absl::Status refused = told(words);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(
        std::string(refused.message()),
        AllOf(HasSubstr("container \"web\": memori.high of `unified`: the container's group "
                        "has no controller \"memori\""),
              HasSubstr("/sys/fs/cgroup/cgroup.controllers"), HasSubstr(words)));
  }
  const absl::Status missing = told("open `memori.high`: No such file or directory");
  EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("memori.high of `unified`: this kernel has no such file"));
  // A limit of another field.
  EXPECT_TRUE(absl::IsInternal(told("controller `hugetlb` is not available under /x")));
}

TEST(CreateFailure, AMissingOpenat2NamesTheWayOut) {
  ContainerSpec spec;
  spec.name = "web";
  spec.mounts.emplace_back().container_path = "/null/x";
  const absl::Status told = TranslateCreateFailure(
      absl::InternalError("cannot resolve `null` under rootfs: No such file or directory"), spec,
      std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the OCI runtime can't call openat2(2)"),
                    HasSubstr("RestrictSUIDSGID="), HasSubstr("or runc, as `crun`"),
                    HasSubstr("(cannot resolve `null` under rootfs")));
}

TEST(CreateFailure, NamesMaySayAnything) {
  ContainerSpec spec;
  spec.name = "web";
  for (const std::string command : {"webhook", "/opt/hooks/run.sh", "/bin/sh -c\necho hi"}) {
    const auto refusal = RefusalOf(
        absl::InternalError(absl::StrCat("crun: executable file `", command,
                                         "` not found in $PATH: No such file or directory")),
        spec, command, "/");
    ASSERT_TRUE(refusal.has_value()) << command;
    EXPECT_THAT(*refusal, HasSubstr(absl::StrCat("command \"", absl::CEscape(command),
                                                 "\" is not in the image")));
  }
  for (const std::string directory :
       {"/etc/passwd/webhook", "/etc/passwd/\nx", "/etc/passwd/open executable"}) {
    const auto refusal = RefusalOf(
        absl::InternalError(absl::StrCat("crun: chdir `", directory, "`: Not a directory")), spec,
        "app", directory);
    ASSERT_TRUE(refusal.has_value()) << directory;
    EXPECT_THAT(*refusal, HasSubstr(absl::StrCat("working directory \"", absl::CEscape(directory),
                                                 "\" can't be entered")));
  }
  EXPECT_EQ(RefusalOf(absl::InternalError("crun: error executing hook `app` (exit code: 1)"), spec,
                      "app", "/"),
            std::nullopt);
}

TEST(CreateFailure, WhatIsTheWorkloadsFaultIsARefusal) {
  ContainerSpec spec;
  spec.name = "web";
  const auto refusal = [&spec](const std::string& words) {
    return RefusalOf(absl::InternalError(words), spec, "app", "/srv").value_or("none");
  };
  // crun's words, of several versions, and runc's.
  for (const char* words : {"executable file `app` not found in $PATH: No such file or directory",
                            "executable file `app` not found: No such file or directory",
                            "open executable: No such file or directory",
                            "exec: \"app\": executable file not found in $PATH",
                            "a hook's word\nopen executable: No such file or directory\n"}) {
    EXPECT_THAT(refusal(words), HasSubstr("container \"web\": command \"app\" is not in the image"))
        << words;
  }
  for (const char* words :
       {"open executable: Permission denied", "open executable: Operation not permitted",
        "the path `/bin/app` exists but it is not executable: Operation not permitted",
        "the path `app` is not a regular file: Operation not permitted",
        "exec: \"/app\": permission denied", "exec: \"/app\": is a directory",
        "msg=\"exec: \\\"/bin/app\\\": permission denied\""}) {
    EXPECT_THAT(refusal(words), HasSubstr("command \"app\" can't be executed")) << words;
  }
  for (const char* words :
       {"chdir `/srv`: Not a directory", "chdir `/srv`: Permission denied",
        "chdir to cwd (\"/srv\") set in config.json failed: permission denied"}) {
    EXPECT_THAT(refusal(words), HasSubstr("working directory \"/srv\" can't be entered")) << words;
  }
}

TEST(CreateFailure, WhatIsTheMachinesFaultIsNoRefusal) {
  for (const char* words :
       {"plimsoll: mount /srv/cwd to /x: Permission denied",
        "plimsoll: execute crun: No such file or directory",
        "mount `/srv/cwd/chdir` to `/data`: Permission denied",
        "open executable: Input/output error", "chdir `/srv`: Input/output error",
        "chdir `/srv`: Cannot allocate memory",
        "executable file `app` not found in $PATH\nerror executing hook `/usr/bin/prepare`",
        "error running prestart hook #0: exec: \"app\": executable file not found in $PATH",
        "exec: \"runc\": executable file not found in $PATH",
        "cgroups in hybrid mode not supported", ""}) {
    EXPECT_EQ(RefusalOf(absl::InternalError(words), {}, "app", "/"), std::nullopt) << words;
  }
  EXPECT_EQ(RefusalOf(absl::DeadlineExceededError("open executable: No such file or directory"), {},
                      "app", "/"),
            std::nullopt);
}

TEST(CreateFailure, WhatIsToldOfAnExecIsText) {
  EXPECT_THAT(ExplainExecFailure(""), HasSubstr("does not say why"));
  EXPECT_THAT(
      ExplainExecFailure("words of a hook\nexec container process `/x`: Argument list too long\n"),
      AllOf(HasSubstr("128 KiB"), HasSubstr("(exec container process `/x`"),
            Not(HasSubstr("hook"))));
  EXPECT_THAT(ExplainExecFailure("exec container process `/\x1b[2J`: Exec format error"),
              HasSubstr("\\x1b[2J"));
  EXPECT_THAT(ExplainExecFailure("exec container process `/x`: Exec format error", "s390x"),
              HasSubstr("its image is for s390x, and this machine is "));
  EXPECT_THAT(ExplainExecFailure("exec container process `/\xc3"),
              HasSubstr("(exec container process `/\\xc3)"));
}

TEST(CreateFailure, ASettingOfAPluginIsNamedByItsField) {
  ContainerSpec spec;
  spec.name = "web";
  const std::pair<const char*, const char*> kFailures[] = {
      {"plimsoll: set the memory policy 32770:2: Invalid argument", "linux.memory_policy: "},
      {"writing file `cpu.rt_runtime_us`: Invalid argument",
       "linux.resources.cpu.realtime_runtime: "},
      {"setrlimit `RLIMIT_NICE`: Operation not permitted", "rlimits: "}};
  for (const auto& [words, field] : kFailures) {
    const absl::Status told =
        TranslateCreateFailure(absl::InternalError(words), spec, std::nullopt);
    EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
    EXPECT_THAT(std::string(told.message()),
                AllOf(HasSubstr(absl::StrCat("container \"web\": ", field)), HasSubstr(words)));
  }
}

}  // namespace
}  // namespace plimsoll::runtime
