#include "entry/plan.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace plimsoll::entry {
namespace {

constexpr size_t kMaxPlan = size_t{32} << 20;

// Zeroed; never given back.
void* Allocate(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

bool ReadNumber(const monitor::LaunchPlan& text, const char* key, int base, uint64_t* number) {
  const char* value = text.Get(key);
  if (value == nullptr || *value == '\0') return false;
  char* end = nullptr;
  *number = strtoull(value, &end, base);
  return *end == '\0';
}

// -1 where the plan has none.
int ReadDescriptor(const monitor::LaunchPlan& text, const char* key) {
  uint64_t number = 0;
  return ReadNumber(text, key, 10, &number) ? static_cast<int>(number) : -1;
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

bool ReadCapabilities(const monitor::LaunchPlan& text, Capabilities* sets) {
  constexpr int kHexadecimal = 16;
  return ReadNumber(text, "bounding", kHexadecimal, &sets->bounding) &&
         ReadNumber(text, "effective", kHexadecimal, &sets->effective) &&
         ReadNumber(text, "permitted", kHexadecimal, &sets->permitted) &&
         ReadNumber(text, "inheritable", kHexadecimal, &sets->inheritable) &&
         ReadNumber(text, "ambient", kHexadecimal, &sets->ambient);
}

}  // namespace

bool ReadPlan(int descriptor, Plan* plan) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0 || info.st_size <= 0) return false;
  const auto size = static_cast<size_t>(info.st_size);
  if (size > kMaxPlan) return false;
  auto* text = static_cast<char*>(Allocate(size));
  if (text == nullptr || pread(descriptor, text, size, 0) != info.st_size) return false;
  close(descriptor);
  if (text[size - 1] != '\0') return false;
  plan->text = monitor::LaunchPlan(text, size);
  plan->log = ReadDescriptor(plan->text, "log");
  plan->entered = ReadDescriptor(plan->text, "entered");
  plan->init = ReadDescriptor(plan->text, "init");
  plan->filter = ReadDescriptor(plan->text, "filter");
  plan->no_new_privileges = plan->text.Has("nnp");
  plan->arguments = List(plan->text, "arg");
  plan->environment = List(plan->text, "env");
  uint64_t pid = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  const bool whole =
      ReadNumber(plan->text, "pid", 10, &pid) && ReadNumber(plan->text, "uid", 10, &uid) &&
      ReadNumber(plan->text, "gid", 10, &gid) && ReadCapabilities(plan->text, &plan->capabilities);
  plan->pid = static_cast<pid_t>(pid);
  plan->uid = static_cast<uid_t>(uid);
  plan->gid = static_cast<gid_t>(gid);
  return whole && plan->log >= 0 && plan->init >= 0 && plan->text.Has("cwd") &&
         plan->text.Has("groups") && plan->environment != nullptr && plan->arguments != nullptr &&
         plan->arguments[0] != nullptr;
}

}  // namespace plimsoll::entry
