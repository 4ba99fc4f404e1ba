// Calls to the daemon, timed and judged.
#ifndef PLIMSOLL_TESTS_SOAK_CALLS_H_
#define PLIMSOLL_TESTS_SOAK_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "soak/journal.h"

namespace plimsoll::testing {

// One client's calls to the daemon. Used by one thread.
class Calls {
 public:
  Calls(Node* node, Journal* journal, std::string who)
      : node_(node), journal_(journal), who_(std::move(who)) {}

  template <typename Request, typename Response>
  using Method = grpc::Status (cri::RuntimeService::Stub::*)(grpc::ClientContext*, const Request&,
                                                             Response*);

  // Returns the answer's code. Any code other than `expected` is a fault.
  template <typename Request, typename Response>
  grpc::StatusCode Ask(const char* name, Method<Request, Response> method, const Request& request,
                       Response* response,
                       const std::set<grpc::StatusCode>& expected = {grpc::StatusCode::OK}) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(60))));
    const absl::Time start = absl::Now();
    const grpc::Status status = (node_->runtime().*method)(&context, request, response);
    Judge(name, absl::Now() - start, status, expected);
    return status.error_code();
  }

  template <typename Request, typename Response>
  using StreamMethod = std::unique_ptr<grpc::ClientReader<Response>> (cri::RuntimeService::Stub::*)(
      grpc::ClientContext*, const Request&);

  // All pieces of a streamed answer.
  template <typename Request, typename Response>
  std::vector<Response> AskStream(const char* name, StreamMethod<Request, Response> method,
                                  const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(60))));
    const absl::Time start = absl::Now();
    const auto reader = (node_->runtime().*method)(&context, request);
    std::vector<Response> pieces;
    for (Response piece; reader->Read(&piece);) pieces.push_back(std::move(piece));
    Judge(name, absl::Now() - start, reader->Finish(), {grpc::StatusCode::OK});
    return pieces;
  }

  void Fault(const std::string& text) {
    has_faults_ = true;
    journal_->Fault(absl::StrCat(who_, ": ", text));
  }
  void Note(const std::string& text) { absl::StrAppend(&history_, "  ", text, "\n"); }
  // The calls so far and their results.
  const std::string& history() const { return history_; }
  bool has_faults() const { return has_faults_; }
  Journal& journal() { return *journal_; }
  Node& node() { return *node_; }

 private:
  void Judge(const char* name, absl::Duration took, const grpc::Status& status,
             const std::set<grpc::StatusCode>& expected);

  Node* const node_;
  Journal* const journal_;
  const std::string who_;
  std::string history_;
  bool has_faults_ = false;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_CALLS_H_
