#include "streaming/spdy_headers.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "streaming/spdy_dictionary.h"
#include "streaming/spdy_frame.h"

namespace plimsoll::streaming {
namespace {

// zlib doesn't write to its input; its interface lacks the const.
Bytef* Input(absl::string_view text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

absl::Status NoHeaders(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("SPDY header block: ", why));
}

// Takes a length and that many bytes from the front of `text`. False if it is too short.
bool TakeText(absl::string_view* text, absl::string_view* taken) {
  if (text->size() < 4) return false;
  const uint32_t size = ReadUint32(*text);
  if (text->size() - 4 < size) return false;
  *taken = text->substr(4, size);
  text->remove_prefix(4 + size);
  return true;
}

absl::StatusOr<SpdyHeaders> Parse(absl::string_view text) {
  if (text.size() < 4) return NoHeaders("no number of headers");
  const uint32_t count = ReadUint32(text);
  text.remove_prefix(4);
  if (count > SpdyHeaderReader::kMaxHeaders) {
    return absl::ResourceExhaustedError(absl::StrCat("SPDY header block: ", count,
                                                     " headers; at most ",
                                                     SpdyHeaderReader::kMaxHeaders, " are read"));
  }
  SpdyHeaders headers;
  for (uint32_t i = 0; i < count; ++i) {
    absl::string_view name;
    absl::string_view value;
    if (!TakeText(&text, &name) || !TakeText(&text, &value)) return NoHeaders("it ends too early");
    if (name.empty()) return NoHeaders("a header without a name");
    headers.emplace_back(absl::AsciiStrToLower(name), std::string(value));
  }
  if (!text.empty()) return NoHeaders("bytes follow the last header");
  return headers;
}

}  // namespace

absl::string_view HeaderOf(const SpdyHeaders& headers, absl::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? absl::string_view() : found->second;
}

SpdyHeaderReader::SpdyHeaderReader() : zlib_(std::make_unique<z_stream>()) {
  usable_ = inflateInit(zlib_.get()) == Z_OK;
}

SpdyHeaderReader::~SpdyHeaderReader() {
  inflateEnd(zlib_.get());
}

absl::StatusOr<std::string> SpdyHeaderReader::Decompress(absl::string_view block) {
  std::string text(kMaxBytes, '\0');
  zlib_->next_in = Input(block);
  zlib_->avail_in = static_cast<uInt>(block.size());
  zlib_->next_out = reinterpret_cast<Bytef*>(text.data());
  zlib_->avail_out = static_cast<uInt>(text.size());
  while (zlib_->avail_in > 0) {
    const int result = inflate(zlib_.get(), Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
      const absl::Span<const uint8_t> dictionary = SpdyDictionary();
      if (inflateSetDictionary(zlib_.get(), dictionary.data(),
                               static_cast<uInt>(dictionary.size())) != Z_OK) {
        return NoHeaders("it was compressed with another dictionary");
      }
      continue;
    }
    if (zlib_->avail_out == 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("SPDY header block: must be shorter than ", kMaxBytes, " bytes"));
    }
    if (result != Z_OK) return NoHeaders("it can't be decompressed");
  }
  text.resize(text.size() - zlib_->avail_out);
  return text;
}

absl::StatusOr<SpdyHeaders> SpdyHeaderReader::Read(absl::string_view block) {
  if (!usable_) return NoHeaders("no block can be read after a failed one");
  usable_ = false;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Decompress(block));
  PLIMSOLL_ASSIGN_OR_RETURN(SpdyHeaders headers, Parse(text));
  usable_ = true;
  return headers;
}

// The window holds the dictionary and the headers of a stream; see deflateInit2 in zlib.h.
constexpr int kWindowBits = 12;
constexpr int kMemoryLevel = 2;

SpdyHeaderWriter::SpdyHeaderWriter() : zlib_(std::make_unique<z_stream>()) {
  const absl::Span<const uint8_t> dictionary = SpdyDictionary();
  // 24 KB for each connection; the default takes 268.
  usable_ = deflateInit2(zlib_.get(), Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                         Z_DEFAULT_STRATEGY) == Z_OK &&
            deflateSetDictionary(zlib_.get(), dictionary.data(),
                                 static_cast<uInt>(dictionary.size())) == Z_OK;
}

SpdyHeaderWriter::~SpdyHeaderWriter() {
  deflateEnd(zlib_.get());
}

absl::StatusOr<std::string> SpdyHeaderWriter::Write(const SpdyHeaders& headers) {
  if (!usable_) return absl::ResourceExhaustedError("zlib has no memory for SPDY headers");
  std::string text;
  AppendUint32(static_cast<uint32_t>(headers.size()), &text);
  for (const auto& [name, value] : headers) {
    AppendUint32(static_cast<uint32_t>(name.size()), &text);
    absl::StrAppend(&text, absl::AsciiStrToLower(name));
    AppendUint32(static_cast<uint32_t>(value.size()), &text);
    absl::StrAppend(&text, value);
  }
  // zlib's bound is for a whole stream; a flush adds some bytes.
  std::string block(deflateBound(zlib_.get(), text.size()) + 64, '\0');
  zlib_->next_in = Input(text);
  zlib_->avail_in = static_cast<uInt>(text.size());
  zlib_->next_out = reinterpret_cast<Bytef*>(block.data());
  zlib_->avail_out = static_cast<uInt>(block.size());
  if (deflate(zlib_.get(), Z_SYNC_FLUSH) != Z_OK || zlib_->avail_in > 0) {
    usable_ = false;
    return absl::InternalError("SPDY headers can't be compressed");
  }
  block.resize(block.size() - zlib_->avail_out);
  return block;
}

}  // namespace plimsoll::streaming
