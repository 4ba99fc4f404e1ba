// Runs a fuzzer's function once over every file of a corpus: for builds without libFuzzer.
//
//   fuzz_quantity DIRECTORY|FILE...
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/fs_root.h"
#include "check.h"

namespace {

bool RunFile(const plimsoll::FsRoot& host, const std::string& path) {
  const absl::StatusOr<std::string> input = host.Read(path);
  if (!input.ok()) {
    std::fprintf(stderr, "%s\n", input.status().ToString().c_str());
    return false;
  }
  std::fprintf(stderr, "%s\n", path.c_str());  // the last one named is the one that crashed
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input->data()), input->size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const absl::StatusOr<plimsoll::FsRoot> host = plimsoll::FsRoot::Open("/");
  char working_directory[4096] = "";
  if (!host.ok() || getcwd(working_directory, sizeof(working_directory)) == nullptr) return 1;
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string path =
        argv[i][0] == '/' ? argv[i] : std::string(working_directory) + "/" + argv[i];
    const auto names = host->List(path);
    const std::vector<std::string> inputs =
        names.ok() ? *names : std::vector<std::string>{std::string()};
    for (const std::string& name : inputs) {
      if (!RunFile(*host, name.empty() ? path : path + "/" + name)) return 1;
      ++files;
    }
  }
  std::fprintf(stderr, "%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
