// The fuzzers' shared part: a check that holds in every build, and the input as text.
#ifndef PLIMSOLL_FUZZ_CHECK_H_
#define PLIMSOLL_FUZZ_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Ends the program, which is how a fuzzer reports, with `detail` (a std::string) for the reader.
#define FUZZ_CHECK(condition, detail)                                                       \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      std::fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, \
                   std::string(detail).c_str());                                            \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)

namespace plimsoll::fuzz {

inline absl::string_view Text(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

// A refusal of outside text must have a refusal's code, and a reason.
inline void CheckRefusal(const absl::Status& status) {
  FUZZ_CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
                 absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status),
             status.ToString());
  FUZZ_CHECK(!status.message().empty(), status.ToString());
}

}  // namespace plimsoll::fuzz

// The entry point that libFuzzer and run_corpus.cc call.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // PLIMSOLL_FUZZ_CHECK_H_
