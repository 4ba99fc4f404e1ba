#include "container_entry/plan.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace plimsoll::entry {
namespace {

constexpr size_t kMaxPlan = size_t{32} << 20;
constexpr int kDecimal = 10;

// Allocates zeroed memory; null on failure.
void* Allocate(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// setresuid(2) and setresgid(2) take the highest number for "unchanged".
constexpr uint64_t kMostId = UINT32_MAX - 1;

// -1: not a digit of any base.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Returns the position after the digits at `at`; null without digits, or for a number above `most`.
const char* ParseNumber(const char* at, int base, uint64_t most, uint64_t* number) {
  const char* const begin = at;
  const auto by = static_cast<uint64_t>(base);
  *number = 0;
  for (; DigitOf(*at) >= 0 && DigitOf(*at) < base; ++at) {
    const auto digit = static_cast<uint64_t>(DigitOf(*at));
    if (digit > most || *number > (most - digit) / by) return nullptr;
    *number = *number * by + digit;
  }
  return at == begin ? nullptr : at;
}

bool ReadNumber(const monitor::LaunchPlan& text, const char* key, int base, uint64_t most,
                uint64_t* number) {
  const char* value = text.Get(key);
  if (value == nullptr) return false;
  const char* end = ParseNumber(value, base, most, number);
  return end != nullptr && *end == '\0';
}

// Leaves `descriptor` alone if the plan has none. False: its value is no descriptor.
bool ReadDescriptor(const monitor::LaunchPlan& text, const char* key, int* descriptor) {
  if (!text.Has(key)) return true;
  uint64_t number = 0;
  if (!ReadNumber(text, key, kDecimal, INT_MAX, &number)) return false;
  *descriptor = static_cast<int>(number);
  return true;
}

// The values of a key as execve(2) takes them.
char** List(const monitor::LaunchPlan& text, const char* key) {
  size_t count = 0;
  for (const char* at = text.Get(key); at != nullptr; at = text.Next(key, at)) ++count;
  auto** list = static_cast<char**>(Allocate((count + 1) * sizeof(char*)));
  if (list == nullptr) return nullptr;
  char** next = list;
  for (const char* at = text.Get(key); at != nullptr; at = text.Next(key, at)) {
    *next++ = const_cast<char*>(at);
  }
  return list;
}

bool ReadCapabilities(const monitor::LaunchPlan& text, CapabilitySets* sets) {
  const auto read = [&text](const char* key, uint64_t* set) {
    constexpr int kHexadecimal = 16;
    return ReadNumber(text, key, kHexadecimal, UINT64_MAX, set);
  };
  return read("bounding", &sets->bounding) && read("effective", &sets->effective) &&
         read("permitted", &sets->permitted) && read("inheritable", &sets->inheritable) &&
         read("ambient", &sets->ambient);
}

}  // namespace

bool ParseGroups(const char* list, gid_t* groups, size_t* count) {
  *count = 0;
  if (*list == '\0') return true;
  while (*count < kMaxGroups) {
    uint64_t group = 0;
    list = ParseNumber(list, kDecimal, kMostId, &group);
    if (list == nullptr) return false;
    groups[(*count)++] = static_cast<gid_t>(group);
    if (*list == '\0') return true;
    if (*list++ != ',') return false;
  }
  return false;
}

bool ParseLimits(const char* text, uint64_t* soft, uint64_t* hard) {
  const char* end = ParseNumber(text, kDecimal, UINT64_MAX, soft);
  if (end == nullptr || *end != ':') return false;
  end = ParseNumber(end + 1, kDecimal, UINT64_MAX, hard);
  return end != nullptr && *end == '\0';
}

bool ParseResourceLimit(const char* text, int* resource, uint64_t* soft, uint64_t* hard) {
  uint64_t number = 0;
  const char* end = ParseNumber(text, kDecimal, RLIM_NLIMITS - 1, &number);
  if (end == nullptr || *end != ':') return false;
  *resource = static_cast<int>(number);
  return ParseLimits(end + 1, soft, hard);
}

bool ReadPlan(int descriptor, Plan* plan) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0 || info.st_size <= 0) return false;
  const auto size = static_cast<size_t>(info.st_size);
  if (size > kMaxPlan) return false;
  auto* text = static_cast<char*>(Allocate(size));
  if (text == nullptr || pread(descriptor, text, size, 0) != info.st_size) return false;
  close(descriptor);
  return ParsePlan(text, size, plan);
}

bool ParsePlan(const char* text, size_t size, Plan* plan) {
  if (size == 0 || text[size - 1] != '\0') return false;
  plan->text = monitor::LaunchPlan(text, size);
  // An unreadable filter differs from none.
  if (!ReadDescriptor(plan->text, "log", &plan->log) ||
      !ReadDescriptor(plan->text, "entered", &plan->entered) ||
      !ReadDescriptor(plan->text, "init", &plan->init) ||
      !ReadDescriptor(plan->text, "filter", &plan->filter)) {
    return false;
  }
  plan->no_new_privileges = plan->text.Has("nnp");
  plan->arguments = List(plan->text, "arg");
  plan->environment = List(plan->text, "env");
  uint64_t pid = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  const bool whole = ReadNumber(plan->text, "pid", kDecimal, INT_MAX, &pid) && pid > 0 &&
                     ReadNumber(plan->text, "uid", kDecimal, kMostId, &uid) &&
                     ReadNumber(plan->text, "gid", kDecimal, kMostId, &gid) &&
                     ReadCapabilities(plan->text, &plan->capabilities);
  plan->pid = static_cast<pid_t>(pid);
  plan->uid = static_cast<uid_t>(uid);
  plan->gid = static_cast<gid_t>(gid);
  return whole && plan->log >= 0 && plan->init >= 0 && plan->text.Has("cwd") &&
         plan->text.Has("groups") && plan->environment != nullptr && plan->arguments != nullptr &&
         plan->arguments[0] != nullptr;
}

}  // namespace plimsoll::entry
