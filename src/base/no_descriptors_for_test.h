// For tests: keeps the whole process from opening any descriptor.
#ifndef PLIMSOLL_BASE_NO_DESCRIPTORS_FOR_TEST_H_
#define PLIMSOLL_BASE_NO_DESCRIPTORS_FOR_TEST_H_

#include <sys/resource.h>

namespace plimsoll {

// While it lives, every call that needs a new descriptor fails with EMFILE, in every thread. Open
// descriptors stay open.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  struct rlimit before_ = {};
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_NO_DESCRIPTORS_FOR_TEST_H_
