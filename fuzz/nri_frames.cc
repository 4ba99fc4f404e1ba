// The frames of a plugin's socket.
#include <map>
#include <string>

#include "check.h"
#include "nri/ttrpc/frames.h"

namespace {

using plimsoll::nri::FrameDecoder;

struct Decoded {
  std::map<uint32_t, std::string> connections;
  absl::Status status;
  bool is_whole = false;
};

Decoded Decode(absl::string_view stream, size_t piece) {
  Decoded decoded;
  FrameDecoder decoder;
  const auto take = [&](uint32_t connection, absl::string_view part) {
    FUZZ_CHECK(connection != 0 && !part.empty(), "a part of nothing");
    decoded.connections[connection].append(part.data(), part.size());
    return absl::OkStatus();
  };
  while (!stream.empty() && decoded.status.ok()) {
    const absl::string_view part = stream.substr(0, piece);
    decoded.status = decoder.Feed(part, take);
    stream.remove_prefix(part.size());
  }
  decoded.is_whole = decoder.IsBetweenFrames();
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view stream = Text(data, size);
  const Decoded decoded = Decode(stream, size + 1);
  if (!decoded.status.ok()) CheckRefusal(decoded.status);
  for (const size_t piece : {1, 7}) {
    const Decoded again = Decode(stream, piece);
    FUZZ_CHECK(again.status == decoded.status, again.status.ToString());
    FUZZ_CHECK(again.connections == decoded.connections, "cut, the stream says something else");
    FUZZ_CHECK(again.is_whole == decoded.is_whole, "cut, the stream ends elsewhere");
  }
  std::string frames;
  for (const auto& [connection, bytes] : decoded.connections) {
    plimsoll::nri::AppendFrames(connection, bytes, &frames);
  }
  const Decoded back = Decode(frames, 4096);
  FUZZ_CHECK(back.status.ok() && back.is_whole, back.status.ToString());
  FUZZ_CHECK(back.connections == decoded.connections, "the frames lose bytes");
  return 0;
}
