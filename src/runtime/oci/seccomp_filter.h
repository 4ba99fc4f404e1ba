// A libseccomp filter under construction, and its description. Used by the seccomp_*.cc files only.
#ifndef PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_
#define PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_

#include <seccomp.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/oci/seccomp.h"

namespace plimsoll::runtime {

// The OCI specification's names of libseccomp's values.
inline constexpr std::pair<uint32_t, const char*> kArchitectures[] = {
    {SCMP_ARCH_X86, "SCMP_ARCH_X86"},
    {SCMP_ARCH_X86_64, "SCMP_ARCH_X86_64"},
    {SCMP_ARCH_X32, "SCMP_ARCH_X32"},
    {SCMP_ARCH_ARM, "SCMP_ARCH_ARM"},
    {SCMP_ARCH_AARCH64, "SCMP_ARCH_AARCH64"},
    {SCMP_ARCH_MIPS, "SCMP_ARCH_MIPS"},
    {SCMP_ARCH_MIPS64, "SCMP_ARCH_MIPS64"},
    {SCMP_ARCH_MIPS64N32, "SCMP_ARCH_MIPS64N32"},
    {SCMP_ARCH_MIPSEL, "SCMP_ARCH_MIPSEL"},
    {SCMP_ARCH_MIPSEL64, "SCMP_ARCH_MIPSEL64"},
    {SCMP_ARCH_MIPSEL64N32, "SCMP_ARCH_MIPSEL64N32"},
    {SCMP_ARCH_PPC, "SCMP_ARCH_PPC"},
    {SCMP_ARCH_PPC64, "SCMP_ARCH_PPC64"},
    {SCMP_ARCH_PPC64LE, "SCMP_ARCH_PPC64LE"},
    {SCMP_ARCH_RISCV64, "SCMP_ARCH_RISCV64"},
    {SCMP_ARCH_S390, "SCMP_ARCH_S390"},
    {SCMP_ARCH_S390X, "SCMP_ARCH_S390X"}};
inline constexpr std::pair<scmp_compare, const char*> kOperators[] = {
    {SCMP_CMP_NE, "SCMP_CMP_NE"},
    {SCMP_CMP_LT, "SCMP_CMP_LT"},
    {SCMP_CMP_LE, "SCMP_CMP_LE"},
    {SCMP_CMP_EQ, "SCMP_CMP_EQ"},
    {SCMP_CMP_GE, "SCMP_CMP_GE"},
    {SCMP_CMP_GT, "SCMP_CMP_GT"},
    {SCMP_CMP_MASKED_EQ, "SCMP_CMP_MASKED_EQ"}};

class SeccompFilter {
 public:
  // For programs of `architecture`, an SCMP_ARCH_...; by default the machine's own.
  static absl::StatusOr<SeccompFilter> Make(uint32_t default_action,
                                            uint32_t architecture = seccomp_arch_native());

  // Includes programs of another architecture. OK when it is there already.
  absl::Status AddArchitecture(uint32_t architecture);
  // Ignores calls that libseccomp doesn't know, and rules that repeat the default.
  absl::Status AddRule(uint32_t action, const std::string& call,
                       const std::vector<scmp_arg_cmp>& arguments = {});
  absl::StatusOr<Seccomp> Export() const;

 private:
  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  SeccompFilter(void* context, uint32_t default_action, uint32_t architecture);
  void Describe(uint32_t action, const std::string& call,
                const std::vector<scmp_arg_cmp>& arguments);
  absl::StatusOr<std::string> ExportBpf() const;

  std::unique_ptr<void, Release> context_;
  uint32_t default_action_;
  nlohmann::json profile_;  // "linux.seccomp" of the OCI specification
};

// The RuntimeDefault profile of a machine of `architecture`: CompileDefaultSeccomp is that of this
// one.
absl::StatusOr<Seccomp> CompileDefaultSeccompOf(uint32_t architecture, CapabilityMask capabilities);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_
