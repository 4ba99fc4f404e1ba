#include "systemd/sd_bus.h"

#include <dlfcn.h>

#include <cstddef>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::systemd {

#define PLIMSOLL_SD_BUS_DEFINE(name) decltype(&::name) name = nullptr;
PLIMSOLL_SD_BUS_FUNCTIONS(PLIMSOLL_SD_BUS_DEFINE)
#undef PLIMSOLL_SD_BUS_DEFINE

namespace {

absl::Status Unusable(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("systemd's client library can't be used: ", why,
                   "; install it (Debian, Ubuntu, openSUSE: libsystemd0; Fedora, RHEL: "
                   "systemd-libs)"));
}

absl::Mutex load_mutex(absl::kConstInit);
bool loaded ABSL_GUARDED_BY(load_mutex) = false;

}  // namespace

absl::Status LoadSdBusFrom(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Unusable(dlerror());
  std::vector<void*> found;
  for (const char* name : {
#define PLIMSOLL_SD_BUS_NAME(name) #name,
           PLIMSOLL_SD_BUS_FUNCTIONS(PLIMSOLL_SD_BUS_NAME)
#undef PLIMSOLL_SD_BUS_NAME
       }) {
    found.push_back(dlsym(handle, name));
    if (found.back() != nullptr) continue;
    dlclose(handle);
    return Unusable(absl::StrCat(library, " lacks ", name));
  }
  size_t next = 0;
#define PLIMSOLL_SD_BUS_SET(name) name = reinterpret_cast<decltype(name)>(found[next++]);
  PLIMSOLL_SD_BUS_FUNCTIONS(PLIMSOLL_SD_BUS_SET)
#undef PLIMSOLL_SD_BUS_SET
  return absl::OkStatus();
}

absl::Status LoadSdBus() {
  absl::MutexLock lock(&load_mutex);
  if (loaded) return absl::OkStatus();
  const absl::Status status = LoadSdBusFrom("libsystemd.so.0");
  loaded = status.ok();
  return status;
}

}  // namespace plimsoll::systemd
