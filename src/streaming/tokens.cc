#include "streaming/tokens.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/random_id.h"

namespace plimsoll::streaming {
namespace {

constexpr size_t kDigits = 32;  // 128 bits

size_t BytesOf(const StreamRequest& request) {
  size_t bytes = 0;
  for (const std::string& word : request.argv) bytes += sizeof(word) + word.size();
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> Tokens::Add(StreamRequest request) {
  const std::string token = RandomId().substr(0, kDigits);
  absl::MutexLock lock(&mutex_);
  DropExpired();
  const size_t bytes = BytesOf(request);
  if (bytes > kMaxBytes - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the commands of streams that wait for their clients have more than ", kMaxBytes,
        " bytes; each waits for ", absl::FormatDuration(kLife), " at most; try again later"));
  }
  if (requests_.size() >= kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many streams wait for their clients: ", kMaxTokens, "; each waits for ",
                     absl::FormatDuration(kLife), " at most; try again later"));
  }
  bytes_ += bytes;
  ends_.emplace_back(now_() + absl::ToChronoNanoseconds(kLife), token);
  requests_.emplace(token, Entry{std::move(request), std::prev(ends_.end())});
  return token;
}

std::optional<StreamRequest> Tokens::Take(absl::string_view token,
                                          absl::FunctionRef<bool(const StreamRequest&)> fits) {
  absl::MutexLock lock(&mutex_);
  DropExpired();
  const auto found = requests_.find(std::string(token));
  if (found == requests_.end() || !fits(found->second.request)) return std::nullopt;
  return Remove(std::string(token));
}

std::optional<StreamRequest> Tokens::Remove(const std::string& token) {
  const auto found = requests_.find(token);
  if (found == requests_.end()) return std::nullopt;
  StreamRequest request = std::move(found->second.request);
  ends_.erase(found->second.end);
  requests_.erase(found);
  bytes_ -= BytesOf(request);
  return request;
}

size_t Tokens::size() const {
  absl::MutexLock lock(&mutex_);
  return requests_.size();
}

void Tokens::DropExpired() {
  const SteadyTime now = now_();
  while (!ends_.empty() && ends_.front().first <= now) {
    Remove(std::string(ends_.front().second));  // removes the front
  }
}

}  // namespace plimsoll::streaming
