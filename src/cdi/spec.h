// A CDI specification file: devices of one kind, and what each changes about a container.
#ifndef PLIMSOLL_CDI_SPEC_H_
#define PLIMSOLL_CDI_SPEC_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cdi/edits.h"

namespace plimsoll::cdi {

// Larger ones are not read. (The largest that are known, of GPUs cut in many parts, have a tenth.)
inline constexpr size_t kMaxSpecBytes = 4 * 1024 * 1024;

enum class SpecFormat { kJson, kYaml };

struct Spec {
  std::string kind;
  std::map<std::string, ContainerEdits> devices;  // by name
  ContainerEdits edits;                           // for a container that has any of them
};

// Versions 0.3 to 1.0. Strict: INVALID_ARGUMENT "<file>: <place>: <what is wrong and what would be
// right>", for an unknown member too, and for one that came with a later version than the file
// says it has. `spec` is as far as it could be read: of a bad file, `kind` may be known.
absl::Status ParseSpec(absl::string_view text, SpecFormat format, absl::string_view file,
                       Spec* spec);

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_SPEC_H_
