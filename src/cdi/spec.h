// A CDI specification file: devices of one kind, and each one's changes to a container.
#ifndef PLIMSOLL_CDI_SPEC_H_
#define PLIMSOLL_CDI_SPEC_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cdi/edits.h"

namespace plimsoll::cdi {

// Larger files are not read. (The largest known ones, of GPUs cut in many parts, have a tenth.)
inline constexpr size_t kMaxSpecBytes = 4 * 1024 * 1024;

enum class SpecFormat { kJson, kYaml };

struct Spec {
  std::string kind;
  std::map<std::string, ContainerEdits> devices;  // by name
  ContainerEdits edits;                           // for a container with any of the devices
};

// Parses versions 0.3 to 1.0. Strict: INVALID_ARGUMENT "<file>: <place>: <the fault and the valid
// form>", also for an unknown member, and for one that is newer than the file's own version. On an
// error `spec` has the parts read so far: a bad file's `kind` may be known.
absl::Status ParseSpec(absl::string_view text, SpecFormat format, absl::string_view file,
                       Spec* spec);

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_SPEC_H_
