// cri_conformance: checks a CRI v1 runtime against the contract, through its socket.
//
//   cri_conformance                                                 the plimsolld of this build
//   cri_conformance --endpoint unix:///run/containerd/containerd.sock --gtest_filter='Sandbox*'
//
// docs/conformance.md is the guide.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "conformance/bound_program.h"
#include "conformance/cri_test.h"
#include "conformance/own_plimsolld.h"
#include "conformance/session.h"

namespace plimsoll::conformance {
namespace {

constexpr int kSkipped = 77;  // CTest's SKIP_RETURN_CODE
constexpr int kCannotRun = 2;
constexpr size_t kShownLog = 30000;
constexpr char kFooter[] =
    "\nOf GoogleTest's own flags the useful ones are --gtest_filter=PATTERN, --gtest_repeat=N,\n"
    "--gtest_output=json:FILE and --gtest_break_on_failure; cri_conformance --list prints all\n"
    "names. Exits with 0 when no test failed, 1 when one did, 2 when none could run.";

std::string FullName(const ::testing::TestInfo& test) {
  return absl::StrCat(test.test_suite_name(), ".", test.name());
}

void List() {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = FullName(*suite.GetTestInfo(t));
      std::printf("%s\n    %s\n", name.c_str(), PromiseOf(name).c_str());
    }
  }
}

// Prints the promise of a failed test.
class TellPromise : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::printf("the promise: %s\n", PromiseOf(FullName(test)).c_str());
  }
};

// SIGINT, SIGTERM and SIGHUP are blocked in all threads; this one waits for them.
void CleanUpOnSignal(Session* session, const sigset_t& signals) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0) return;
  std::fprintf(stderr, "\ncri_conformance: signal %d: removing what this run has made\n", signal);
  const absl::Status closed = session->Close();
  if (!closed.ok()) {
    std::fprintf(stderr, "cri_conformance: something is left of run %s: %s\n",
                 session->run().c_str(), closed.ToString().c_str());
  }
  _exit(128 + signal);
}

int Run(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Open(options, StartPlimsolld);
  if (!session.ok()) {
    std::fprintf(stderr, "cri_conformance: %s\n", session.status().ToString().c_str());
    return kCannotRun;
  }
  // Ends only with the process.
  std::thread([&] { CleanUpOnSignal(session->get(), signals); }).detach();
  std::printf("run %s of %s\n", (*session)->run().c_str(), (*session)->endpoint().c_str());
  std::fflush(stdout);
  ::testing::UnitTest::GetInstance()->listeners().Append(new TellPromise);
  int result = RUN_ALL_TESTS();
  if (result != 0) {
    const std::string log = (*session)->OwnLog();
    std::printf("%s", log.c_str() + (log.size() > kShownLog ? log.size() - kShownLog : 0));
  }
  const absl::Status closed = (*session)->Close();
  if (!closed.ok()) {
    std::fprintf(stderr, "cri_conformance: something is left of run %s: %s\n",
                 (*session)->run().c_str(), closed.ToString().c_str());
    result = 1;
  }
  if (::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "cri_conformance: no test has such a name; --list prints all\n");
    result = kCannotRun;
  }
  std::fflush(stdout);
  // Doesn't return: the thread that waits for signals uses objects that would be destroyed.
  _exit(result);
}

int Main(int argc, char** argv) {
  Options options;
  options.patience = UsualPatience();
  bool list = false;
  CLI::App app("Holds a CRI v1 runtime to the contract, through its socket.");
  app.footer(kFooter);
  app.add_option("--endpoint", options.endpoint,
                 "The runtime's socket, unix:///PATH; without it the plimsolld of this build is "
                 "started");
  app.add_option("--image-endpoint", options.image_endpoint,
                 "The socket of the image service, if it is another one");
  app.add_option(
      "--image", options.image,
      "An image with busybox's commands for most tests, if no registry can be started here");
  app.add_option(
      "--tls-registry", options.tls_registry,
      "127.0.0.1:PORT for a registry that the suite starts with --tls-certificate and --tls-key; "
      "the runtime must trust the certificate");
  app.add_option("--tls-certificate", options.tls_certificate, "PEM file, see --tls-registry");
  app.add_option("--tls-key", options.tls_key, "PEM file, see --tls-registry");
  app.add_option("--patience", options.patience, "Factor for all time limits")
      ->check(CLI::PositiveNumber);
  app.add_flag("--list", list, "Print all tests, each with its promise, and run none");
  // Before GoogleTest, which handles --help itself.
  for (int i = 1; i < argc; ++i) {
    if (absl::string_view(argv[i]) != "--help" && absl::string_view(argv[i]) != "-h") continue;
    std::printf("%s\n", app.help().c_str());
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  CLI11_PARSE(app, argc, argv);
  if (list) {
    List();
    return 0;
  }
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  if (!options.tls_registry.empty() &&
      (options.tls_certificate.empty() || options.tls_key.empty())) {
    std::fputs("cri_conformance: --tls-registry needs --tls-certificate and --tls-key\n", stderr);
    return kCannotRun;
  }
  if (options.endpoint.empty() && geteuid() != 0) {
    std::puts("skipped: a runtime of our own needs root; --endpoint names another");
    return kSkipped;
  }
  if (options.endpoint.empty()) {
    const absl::Status entered = EnterOwnNetwork();
    if (!entered.ok()) {
      std::fprintf(stderr, "cri_conformance: %s\n", entered.ToString().c_str());
      return kCannotRun;
    }
  }
  return Run(options);
}

}  // namespace
}  // namespace plimsoll::conformance

int main(int argc, char** argv) {
  plimsoll::conformance::BecomeBoundProgram(argc, argv);
  return plimsoll::conformance::Main(argc, argv);
}
