// JSON objects out of a stream of bytes: a whole answer, or the events of a watch.
#ifndef PLIMSOLL_KUBE_APISERVER_JSON_FRAMES_H_
#define PLIMSOLL_KUBE_APISERVER_JSON_FRAMES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// Limits of one object. A value takes many times its text's size in memory ("[]" about forty). A
// page of ResourceSlices, the largest of what is asked for, has 2 MiB and 40,000 values at most.
struct JsonLimits {
  size_t bytes = 4 * 1024 * 1024;
  size_t depth = 100;
  size_t values = 100'000;
};

// Finds where objects end before anything is parsed, so that no limit is overstepped meanwhile.
class JsonFrames {
 public:
  explicit JsonFrames(const JsonLimits& limits) : limits_(limits) {}

  void Feed(absl::string_view bytes) { text_.append(bytes.data(), bytes.size()); }
  // The next object that is whole; nullopt: none yet. UNAVAILABLE, and so from then on: these are
  // no JSON objects, or one is beyond the limits.
  absl::StatusOr<std::optional<nlohmann::json>> Next();
  // An object has begun and isn't whole.
  bool is_amid() const { return depth_ > 0; }

 private:
  enum class Seen { kMore, kEnd, kTooDeep, kTooMany };
  // Takes one byte into account. kEnd: an object ends with it.
  Seen Look(char byte);
  Seen LookOutsideText(char byte);
  absl::Status Beyond(Seen limit) const;
  void DropTaken();

  const JsonLimits limits_;
  std::string text_;
  size_t begin_ = 0;    // of the present object
  size_t scanned_ = 0;  // all before it is known
  size_t depth_ = 0;
  size_t values_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;  // the next byte of the text means nothing
};

// The one object that `text` holds. UNAVAILABLE as above.
absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text, const JsonLimits& limits);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_JSON_FRAMES_H_
