// Test images, built part by part from this machine's static busybox.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_IMAGES_H_
#define PLIMSOLL_TESTS_CONFORMANCE_IMAGES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"

namespace plimsoll::conformance {

// The contents of an image. All have busybox below /bin, the users root and app (1000, also of
// group extra, 2000) and a label unique to the run, so that no two runs make the same image.
struct Recipe {
  std::vector<std::string> entrypoint;
  std::vector<std::string> command = {"/bin/sh"};
  std::vector<std::string> environment;  // "KEY=value"
  std::string user;
  std::string working_directory;
  std::string stop_signal;                   // "SIGUSR1"
  std::map<std::string, std::string> files;  // a layer of their own: path without "/", and content
  bool zstd = false;                         // layers compressed by zstd instead of gzip
  // The image is an index that lists, before this machine's image, one of another platform with the
  // file /foreign.
  bool index = false;
};

// Writes an OCI layout into DIRECTORY/NAME; the image's name in it is "v1". The label gets `run`.
absl::Status WriteImage(const Recipe& recipe, const std::string& run, const FsRoot& directory,
                        const std::string& name);

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_IMAGES_H_
