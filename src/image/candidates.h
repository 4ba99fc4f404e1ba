// Pulls of a short name, which may stand for several full names (see short_names.h).
#ifndef PLIMSOLL_IMAGE_CANDIDATES_H_
#define PLIMSOLL_IMAGE_CANDIDATES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "image/image_service.h"
#include "image/names/reference.h"

namespace plimsoll::image {

// True when the registry of `reference` may get the credentials. `is_one_of_many`: a short name
// stands for several references.
bool Belong(const Credentials& credentials, const Reference& reference, bool is_one_of_many);

// True for a failure that no other registry can mend: the caller's, or this machine's.
bool IsForAll(const absl::Status& failure);

// The error of a pull of `reference` that failed in all registries, at least one.
absl::Status Together(absl::string_view reference, const std::vector<absl::Status>& failures);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_CANDIDATES_H_
