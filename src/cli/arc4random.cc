// arc4random for std::random_device of libstdc++'s archive, which would take that of glibc 2.36:
// the program runs on older ones.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  // Up to 256 bytes come whole (getrandom(2)).
  while (getrandom(&value, sizeof(value), 0) < 0) {
    if (errno != EINTR) std::abort();
  }
  return value;
}
