#include "runtime/oci/seccomp.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/seccomp_filter.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

std::vector<sock_filter> CodeOf(const Seccomp& compiled) {
  std::string bpf;
  EXPECT_TRUE(absl::Base64Unescape(compiled.filter, &bpf));
  EXPECT_EQ(bpf.size() % sizeof(sock_filter), 0u);
  std::vector<sock_filter> code(bpf.size() / sizeof(sock_filter));
  std::memcpy(code.data(), bpf.data(), code.size() * sizeof(sock_filter));
  return code;
}
size_t Instructions(const Seccomp& compiled) {
  return CodeOf(compiled).size();
}

// The filter's answer to a call without arguments, as the kernel would run it. 0 (kill the thread)
// for an instruction that libseccomp doesn't write.
uint32_t AnswerTo(const std::vector<sock_filter>& code, uint32_t architecture, int call) {
  seccomp_data data = {};
  data.nr = call;
  data.arch = architecture;
  uint32_t value = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const sock_filter& step = code[at];
    bool holds = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + step.k, sizeof(value));
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= step.k;
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = value == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        holds = value >= step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        holds = value > step.k;
        break;
      default:
        return 0;
    }
    at += holds ? step.jt : step.jf;
  }
  return 0;
}

TEST(DefaultSeccompTest, FitsIntoTheKernel) {
  for (const CapabilityMask mask : {DefaultCapabilities(), CapabilityMask{0}, ~CapabilityMask{0}}) {
    const auto bpf = CompileDefaultSeccomp(mask);
    ASSERT_TRUE(bpf.ok()) << bpf.status();
    EXPECT_GT(Instructions(*bpf), 100u);
    EXPECT_LT(Instructions(*bpf), static_cast<size_t>(BPF_MAXINSNS));
  }
}

TEST(DefaultSeccompTest, DependsOnCapabilities) {
  EXPECT_NE(*CompileDefaultSeccomp(DefaultCapabilities()),
            *CompileDefaultSeccomp(DefaultCapabilities() | *CapabilityBit("SYS_ADMIN")));
}

// A container of 32-bit ARM on arm64 needs them: glibc sets its thread pointer by set_tls, and code
// that is made at run time calls cacheflush.
TEST(DefaultSeccompTest, AllowsTheOwnCallsOf32BitArm) {
  const auto filter = CompileDefaultSeccompOf(SCMP_ARCH_AARCH64, DefaultCapabilities());
  ASSERT_TRUE(filter.ok()) << filter.status();
  const std::vector<sock_filter> code = CodeOf(*filter);
  const auto answer = [&](uint32_t architecture, uint32_t audit, const char* call) {
    return AnswerTo(code, audit, seccomp_syscall_resolve_name_arch(architecture, call));
  };
  for (const char* call :
       {"read", "arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls"}) {
    EXPECT_EQ(answer(SCMP_ARCH_ARM, AUDIT_ARCH_ARM, call), SECCOMP_RET_ALLOW) << call;
  }
  EXPECT_EQ(answer(SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, "read"), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, "kexec_load"),
            SECCOMP_RET_ERRNO | uint32_t{EPERM});
  EXPECT_NE(answer(SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, "read"), SECCOMP_RET_ALLOW);
}

TEST(SeccompProfileTest, Compiles) {
  const auto bpf = CompileSeccompProfile(R"({
      "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38,
      "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
      "flags": ["SECCOMP_FILTER_FLAG_TSYNC"], "listenerPath": "",
      "syscalls": [
        {"names": ["read", "write", "no_such_call"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
         "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]},
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW",
         "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                  {"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}]}]})",
                                         "p.json");
  ASSERT_TRUE(bpf.ok()) << bpf.status();
  EXPECT_GT(Instructions(*bpf), 10u);
}

TEST(SeccompProfileTest, ErrorsNameFileAndKey) {
  const struct {
    const char* json;
    const char* named;
  } kCases[] = {
      {"{", "not valid JSON"},
      {"[]", "must be an object"},
      {"{}", "\"defaultAction\" must be a string"},
      {R"({"defaultAction": "SCMP_ACT_MAYBE"})", "SCMP_ACT_MAYBE"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 5000})", "5000"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_Z80"]})",
       "SCMP_ARCH_Z80"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [1]})", "\"architectures\""},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": {}})", "\"syscalls\" must be a list"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_LOG"]})",
       "SECCOMP_FILTER_FLAG_LOG"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "flags": [4]})", "\"flags\" must be a list"},
      {R"({"defaultAction": "SCMP_ACT_NOTIFY", "listenerPath": "/x"})", "SCMP_ACT_NOTIFY"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/x"})", "\"listenerPath\""},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [3]})", "syscalls[0]"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"]}]})",
       "syscalls[0].action"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls":
           [{"names": [1], "action": "SCMP_ACT_KILL"}]})",
       "syscalls[0].names"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"],
           "action": "SCMP_ACT_KILL", "args": [{"index": 9, "op": "SCMP_CMP_EQ"}]}]})",
       "syscalls[0].args[0].index"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"],
           "action": "SCMP_ACT_KILL", "args": [{"index": 0, "op": "IS"}]}]})",
       "syscalls[0].args[0].op"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"],
           "action": "SCMP_ACT_KILL", "args": [{"index": -1, "op": "SCMP_CMP_EQ"}]}]})",
       "syscalls[0].args[0].index"},
  };
  for (const auto& c : kCases) {
    const auto bpf = CompileSeccompProfile(c.json, "p.json");
    EXPECT_TRUE(absl::IsInvalidArgument(bpf.status())) << c.json;
    EXPECT_THAT(bpf.status().message(), HasSubstr("p.json")) << c.json;
    EXPECT_THAT(bpf.status().message(), HasSubstr(c.named)) << c.json;
  }
}

// The description is the same profile: it compiles to the same filter.
TEST(SeccompProfileTest, IsDescribedAsItIsCompiled) {
  for (const CapabilityMask mask : {DefaultCapabilities(), CapabilityMask{0}, ~CapabilityMask{0}}) {
    const auto compiled = CompileDefaultSeccomp(mask);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto again = CompileSeccompProfile(compiled->profile, "default");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *compiled);
  }
  const auto local = CompileSeccompProfile(R"({
      "defaultAction": "SCMP_ACT_TRACE", "defaultErrnoRet": 7, "syscalls": [
        {"names": ["read"], "action": "SCMP_ACT_LOG"},
        {"names": ["write"], "action": "SCMP_ACT_TRAP"},
        {"names": ["open"], "action": "SCMP_ACT_KILL"},
        {"names": ["close"], "action": "SCMP_ACT_KILL_PROCESS"},
        {"names": ["openat", "openat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": 13},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
         "args": [{"index": 0, "value": 8, "valueTwo": 3, "op": "SCMP_CMP_MASKED_EQ"}]}]})",
                                           "p.json");
  ASSERT_TRUE(local.ok()) << local.status();
  for (const char* part :
       {R"("defaultAction":"SCMP_ACT_TRACE","defaultErrnoRet":7)",
        R"("action":"SCMP_ACT_KILL","names":["open"])",
        R"("action":"SCMP_ACT_ERRNO","errnoRet":13,"names":["openat","openat2"])",
        R"("index":0,"op":"SCMP_CMP_MASKED_EQ","value":8,"valueTwo":3)"}) {
    EXPECT_THAT(local->profile, HasSubstr(part));
  }
  EXPECT_EQ(*CompileSeccompProfile(local->profile, "again"), *local);
}

TEST(SeccompCompilerTest, Filter) {
  TestDir dir;
  SeccompCompiler compiler(dir.root());
  EXPECT_EQ(*compiler.Compile({}, 0), Seccomp());
  const SecurityProfile standard = {SecurityProfile::Type::kRuntimeDefault, ""};
  const auto first = compiler.Compile(standard, 0);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->filter.empty());
  EXPECT_EQ(*compiler.Compile(standard, 0), *first);
  EXPECT_NE(*compiler.Compile(standard, ~CapabilityMask{0}), *first);

  SecurityProfile local = {SecurityProfile::Type::kLocalhost, "relative.json"};
  EXPECT_TRUE(absl::IsInvalidArgument(compiler.Compile(local, 0).status()));
  local.localhost_path = "/p.json";
  EXPECT_TRUE(absl::IsNotFound(compiler.Compile(local, 0).status()));
  ASSERT_TRUE(dir.root().ReplaceFile("p.json", R"({"defaultAction": "SCMP_ACT_ALLOW"})").ok());
  const auto before = compiler.Compile(local, 0);
  ASSERT_TRUE(before.ok()) << before.status();
  // A changed file counts at once.
  ASSERT_TRUE(dir.root().ReplaceFile("p.json", R"({"defaultAction": "SCMP_ACT_LOG"})").ok());
  EXPECT_NE(*compiler.Compile(local, 0), *before);
  ASSERT_TRUE(dir.root().ReplaceFile("p.json", std::string(2 << 20, ' ')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(compiler.Compile(local, 0).status()));
  // Other kinds of file are neither waited for nor read.
  ASSERT_EQ(mkfifo((dir.path() + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (dir.path() + "/link").c_str()), 0);
  ASSERT_TRUE(dir.root().MakeDirs("directory").ok());
  for (const char* path : {"/fifo", "/directory"}) {
    local.localhost_path = path;
    EXPECT_TRUE(absl::IsInvalidArgument(compiler.Compile(local, 0).status())) << path;
  }
  local.localhost_path = "/link";  // leads nowhere below the root
  EXPECT_TRUE(absl::IsNotFound(compiler.Compile(local, 0).status()));
}

}  // namespace
}  // namespace plimsoll::runtime
