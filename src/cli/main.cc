// plimsoll: the command line.
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/program.h"
#include "copy/helper.h"

int main(int argc, char** argv) {
  // A pipe without a reader gives EPIPE instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // gRPC logs to standard error otherwise ("E1121 ... fork").
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  try {
    if (argc > 1 && std::string_view(argv[1]) == plimsoll::copy::kHelperWord) {
      return plimsoll::copy::HelperMain({argv + 2, argv + argc});
    }
    return plimsoll::cli::RunProgramMain(argc, argv);
  } catch (const std::exception& error) {
    plimsoll::cli::PrintNote(absl::StrCat("plimsoll: internal error: ", error.what(), "\n"));
    return plimsoll::cli::kExitError;
  }
}
