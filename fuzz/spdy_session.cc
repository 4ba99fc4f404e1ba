// A client's bytes on a SPDY connection, whole and byte by byte.
#include "streaming/spdy_session.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "check.h"

namespace {

using namespace plimsoll::fuzz;
namespace streaming = plimsoll::streaming;

// Checks the order of a stream's events.
class Checker : public streaming::SpdySession::Handler {
 public:
  absl::Status OnStream(uint32_t id, const streaming::SpdyHeaders& headers) override {
    FUZZ_CHECK(id % 2 == 1 && id > last_, absl::StrCat(id));
    last_ = id;
    if (streaming::HeaderOf(headers, "streamtype") == "refuse")
      return absl::InvalidArgumentError("refused");
    receives_[id] = true;
    told += absl::StrCat("open ", id, "\n");
    return absl::OkStatus();
  }
  void OnData(uint32_t id, absl::string_view data) override {
    FUZZ_CHECK(receives_[id] && !data.empty(), absl::StrCat(id));
    absl::StrAppend(&bytes[id], data);
  }
  void OnEnd(uint32_t id) override {
    FUZZ_CHECK(receives_[id], absl::StrCat(id));
    receives_[id] = false;
    told += absl::StrCat("end ", id, "\n");
  }
  void OnReset(uint32_t id) override {
    receives_[id] = false;
    told += absl::StrCat("reset ", id, "\n");
  }

  std::string told;
  std::map<uint32_t, std::string> bytes;

 private:
  std::map<uint32_t, bool> receives_;
  uint32_t last_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = Text(data, size);
  Checker whole;
  std::string out;
  streaming::SpdySession session(&whole, 8, &out);
  const absl::Status status = session.Receive(text);
  if (!status.ok()) CheckRefusal(status);
  FUZZ_CHECK(session.streams() <= 8, absl::StrCat(session.streams()));

  // The bytes' fragmentation changes nothing.
  Checker pieces;
  std::string out_of_pieces;
  streaming::SpdySession again(&pieces, 8, &out_of_pieces);
  absl::Status last;
  for (size_t i = 0; i < text.size() && last.ok(); ++i) last = again.Receive(text.substr(i, 1));
  FUZZ_CHECK(last == status, last.ToString());
  FUZZ_CHECK(whole.told == pieces.told && whole.bytes == pieces.bytes, pieces.told);
  return 0;
}
