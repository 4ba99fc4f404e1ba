#include "container_entry/credentials.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "container_entry/report.h"

namespace plimsoll::entry {
namespace {

constexpr int kCapabilityBits = 64;
constexpr int kWordBits = 32;

bool Has(uint64_t set, int capability) {
  return (set >> capability & 1U) != 0;
}

bool SetCapabilities(uint64_t effective, uint64_t permitted, uint64_t inheritable) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct words[2] = {
      {static_cast<uint32_t>(effective), static_cast<uint32_t>(permitted),
       static_cast<uint32_t>(inheritable)},
      {static_cast<uint32_t>(effective >> kWordBits), static_cast<uint32_t>(permitted >> kWordBits),
       static_cast<uint32_t>(inheritable >> kWordBits)}};
  return syscall(SYS_capset, &header, words) == 0;
}

bool OwnPermitted(uint64_t* permitted) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[2] = {};
  if (syscall(SYS_capget, &header, words) != 0) return false;
  *permitted = words[0].permitted | uint64_t{words[1].permitted} << kWordBits;
  return true;
}

// EINVAL: this kernel doesn't have the capability.
bool LimitBounding(uint64_t bounding) {
  for (int each = 0; each < kCapabilityBits; ++each) {
    if (Has(bounding, each) || prctl(PR_CAPBSET_DROP, each, 0, 0, 0) == 0) continue;
    if (errno != EINVAL) return false;
  }
  return true;
}

// Capabilities that the kernel doesn't grant are left out, as by the OCI runtime.
void RaiseAmbient(uint64_t ambient) {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int each = 0; each < kCapabilityBits; ++each) {
    if (Has(ambient, each)) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, each, 0, 0);
  }
}

bool SetGroups(const char* list) {
  static gid_t groups[kMaxGroups];
  size_t count = 0;
  if (!ParseGroups(list, groups, &count)) {
    errno = EINVAL;
    return false;
  }
  return setgroups(count, groups) == 0;
}

}  // namespace

bool ReadFilter(int descriptor, Filter* filter) {
  if (descriptor < 0) return true;
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return false;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0 || size % sizeof(sock_filter) != 0 || size / sizeof(sock_filter) > kMaxFilter) {
    errno = EINVAL;
    return false;
  }
  static sock_filter instructions[kMaxFilter];
  if (pread(descriptor, instructions, size, 0) != info.st_size) {
    errno = EIO;
    return false;
  }
  filter->instructions = instructions;
  filter->count = static_cast<unsigned short>(size / sizeof(sock_filter));
  return true;
}

bool LoadFilter(const Filter& filter) {
  if (filter.count == 0) return true;
  const sock_fprog program = {filter.count, filter.instructions};
  // The OCI runtime's flag for filters that name none.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
         0;
}

void TakeCredentials(const Plan& plan, const Filter& filter, int report) {
  const CapabilitySets& sets = plan.capabilities;
  if (!SetGroups(plan.text.Get("groups"))) Fail(report, Step::kSupplementalGroups);
  if (!LimitBounding(sets.bounding)) Fail(report, Step::kBounding);
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(plan.gid, plan.gid, plan.gid) != 0 ||
      setresuid(plan.uid, plan.uid, plan.uid) != 0) {
    Fail(report, Step::kIds);
  }
  // A change of ids resets it to fs.suid_dumpable.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) Fail(report, Step::kIds);
  if (!plan.no_new_privileges && filter.count > 0) {
    // A user other than root has an empty effective set now.
    uint64_t own = 0;
    if (!OwnPermitted(&own) || !SetCapabilities(own, own, sets.inheritable)) {
      Fail(report, Step::kCapabilities);
    }
    if (!LoadFilter(filter)) Fail(report, Step::kEarlyFilter);
  }
  if (!SetCapabilities(sets.effective, sets.permitted, sets.inheritable)) {
    Fail(report, Step::kCapabilities);
  }
  RaiseAmbient(sets.ambient);
}

}  // namespace plimsoll::entry
