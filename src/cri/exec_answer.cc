#include "cri/exec_answer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>
#include <utility>
#include <vector>

#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::cri {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using Response = ::runtime::v1::ExecSyncResponse;

struct Held {
  std::string text;
  std::shared_ptr<ByteShare> share;
};

void LetGo(void* held) {
  delete static_cast<Held*>(held);
}

grpc::Slice SliceOf(std::string text, const std::shared_ptr<ByteShare>& share) {
  auto* const held = new Held{std::move(text), share};
  return grpc::Slice(held->text.data(), held->text.size(), LetGo, held);
}

std::string HeadOf(int field, const std::string& bytes) {
  uint8_t head[10];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes.size()), end);
  return std::string(head, end);
}

}  // namespace

grpc::ByteBuffer ExecSyncAnswer(runtime::ExecResult result, std::shared_ptr<ByteShare> share) {
  Response rest;
  rest.set_exit_code(result.exit_code);
  std::vector<grpc::Slice> slices = {grpc::Slice(rest.SerializeAsString())};
  const auto add = [&](int field, std::string bytes) {
    if (bytes.empty()) return;
    slices.emplace_back(HeadOf(field, bytes));
    slices.push_back(SliceOf(std::move(bytes), share));
  };
  add(Response::kStdoutFieldNumber, std::move(result.out));
  add(Response::kStderrFieldNumber, std::move(result.err));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace plimsoll::cri
