// Memory in whole pages, as the kernel counts it.
#ifndef PLIMSOLL_RESOURCES_PAGES_H_
#define PLIMSOLL_RESOURCES_PAGES_H_

#include <unistd.h>

#include <cstdint>

namespace plimsoll::resources {

// This machine's page, in bytes: 4 KiB on x86-64; on arm64 4, 16 or 64 KiB, as its kernel was
// built.
inline int64_t PageBytes() {
  return sysconf(_SC_PAGESIZE);
}

// The limit that the kernel holds after a write of `bytes`: whole pages, rounded down
// (mm/page_counter.c, page_counter_memparse).
inline int64_t WholePages(int64_t bytes, int64_t page_bytes) {
  return bytes - bytes % page_bytes;
}

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_PAGES_H_
