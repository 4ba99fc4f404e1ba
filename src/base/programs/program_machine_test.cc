#include "base/programs/program_machine.h"

#include <elf.h>
#include <sys/utsname.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/programs/vfork_for_test.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::EndsWith;

// The head of a program for a machine of elf.h.
std::string ElfHead(int machine, bool big = false) {
  std::string head(sizeof(Elf64_Ehdr), '\0');
  head.replace(0, SELFMAG, ELFMAG);
  head[EI_CLASS] = ELFCLASS64;
  head[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
  head[EI_VERSION] = EV_CURRENT;
  head[big ? 18 : 19] = static_cast<char>(machine >> 8);
  head[big ? 19 : 18] = static_cast<char>(machine & 0xff);
  return head;
}

class ProgramMachineTest : public ::testing::Test {
 protected:
  std::string Why(const std::string& text) {
    EXPECT_TRUE(dir_.root().ReplaceFile("program", text, 0755).ok());
    return WhyNoProgram(path());
  }
  std::string path() const { return dir_.root().PathOf("program"); }
  static std::string Own() {
    utsname own = {};
    uname(&own);
    return own.machine;
  }

  TestDir dir_;
};

TEST_F(ProgramMachineTest, BothMachinesAreNamed) {
  const std::string own = absl::StrCat(", and this machine is ", Own());
  EXPECT_EQ(Why(ElfHead(EM_S390, /*big=*/true)), "it is for s390x" + own);
  EXPECT_EQ(Why(ElfHead(EM_PPC64, /*big=*/true)), "it is for ppc64" + own);
  EXPECT_EQ(Why(ElfHead(EM_PPC64)), "it is for ppc64le" + own);
  EXPECT_EQ(Why(ElfHead(EM_RISCV)), "it is for riscv64" + own);
  EXPECT_EQ(Why(ElfHead(0xfffe)), "it is for machine 65534 of elf.h" + own);
  const bool is_arm = Own() == "aarch64";
  EXPECT_EQ(Why(ElfHead(is_arm ? EM_X86_64 : EM_AARCH64)),
            absl::StrCat("it is for ", is_arm ? "x86_64" : "aarch64", own));
}

TEST_F(ProgramMachineTest, OtherFilesAreDescribed) {
  EXPECT_EQ(Why(""), "it is empty");
  EXPECT_EQ(Why("echo\n"), "it is neither a program nor a script that begins with #!");
  EXPECT_EQ(Why(ElfHead(EM_S390).substr(0, 19)),
            "it is neither a program nor a script that begins with #!");
  EXPECT_EQ(Why("#!/bin/sh\n"), "its first line names no program for this machine");
  EXPECT_EQ(WhyNoProgram("/none"), "it is damaged or for another architecture");
  const int own = Own() == "aarch64" ? EM_AARCH64 : EM_X86_64;
  EXPECT_EQ(Why(ElfHead(own)), absl::StrCat("it is for ", Own(), " and damaged"));
}

TEST_F(ProgramMachineTest, ARunThatTheKernelRefusesSaysIt) {
  if (!VforkSharesMemory()) GTEST_SKIP() << kVforkCopies;
  // There is no such machine, so no emulator (binfmt_misc) runs it.
  const std::string why = Why(ElfHead(0xfffe));
  const absl::Status refused = RunProgram({.argv = {path()}}).status();
  EXPECT_EQ(ErrnoOf(refused), ENOEXEC);
  EXPECT_THAT(std::string(refused.message()), EndsWith("/program: Exec format error; " + why));
}

}  // namespace
}  // namespace plimsoll
