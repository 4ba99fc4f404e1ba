// What a pull does with the several full names that a short name may stand for (see short_names.h).
#ifndef PLIMSOLL_IMAGE_CANDIDATES_H_
#define PLIMSOLL_IMAGE_CANDIDATES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "image/image_service.h"
#include "image/reference.h"

namespace plimsoll::image {

// Whether the registry of `reference` may be given the credentials. `is_one_of_many`: of those that
// a short name stands for.
bool Belong(const Credentials& credentials, const Reference& reference, bool is_one_of_many);

// Whether another registry can do nothing about it: it is the caller's, or this machine's.
bool IsForAll(const absl::Status& failure);

// What became of a pull of `reference` that failed in all registries, at least one.
absl::Status Together(absl::string_view reference, const std::vector<absl::Status>& failures);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_CANDIDATES_H_
