// Images that come with Debian packages, so that their pods need no registry.
#ifndef PLIMSOLL_CLI_NODE_COMMANDS_PACKAGED_IMAGE_H_
#define PLIMSOLL_CLI_NODE_COMMANDS_PACKAGED_IMAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// The directory of such images for the program at `path`: share/plimsoll/images in its
// installation's prefix, e.g. /usr/share/plimsoll/images for /usr/bin/plimsoll. Empty for a program
// that isn't in a directory bin.
std::string PackagedImagesOf(absl::string_view path);

// The file in `directory` that has the image named `reference`: "host/path/name.tar" for
// "host/path/name" and "host/path/name:latest". Empty if there is none, for any other tag, and for
// digests and ids.
std::string PackagedImageFile(const std::string& directory, absl::string_view reference);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_NODE_COMMANDS_PACKAGED_IMAGE_H_
