// The fields of an adjustment: each one's path, number and rule of merging. A field that is missing
// here is refused, so that none is dropped silently.
#ifndef PLIMSOLL_NRI_ADJUST_FIELDS_H_
#define PLIMSOLL_NRI_ADJUST_FIELDS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

enum class Merge {
  kGroup,          // a message whose members are fields of their own
  kWhole,          // one value with one owner
  kList,           // an owner an element; a map is a list of its entries
  kRemovableList,  // as kList; "-" before the key of an element removes it
  kAppend,         // a list with any number of owners
  kArgs,           // a command line; an empty first element removes the present one
  kRemoveRdt,      // takes away classes and schemata
};

struct Field {
  const char* path;   // "linux.resources.cpu.cpus"
  api::Field number;  // None: the protocol has none, or this is a group
  Merge merge;
  const char* key;  // lists: the member of an element that is its key; null: KeyOf makes one
};

absl::Span<const Field> AllFields();
// Null: there is no such field.
const Field* FindField(absl::string_view path);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_FIELDS_H_
