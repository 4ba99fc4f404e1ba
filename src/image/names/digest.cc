#include "image/names/digest.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kPrefix = "sha256:";
constexpr size_t kHexLength = 64;

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

// OpenSSL's SHA-256 fails only for lack of memory; going on with a wrong digest is not an option.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr ||
      EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    std::abort();
  }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(const void* data, size_t size) {
  if (EVP_DigestUpdate(state_->context, data, size) != 1) std::abort();
}

std::string Sha256::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context, digest, &size) != 1) std::abort();
  return absl::StrCat(kPrefix, absl::BytesToHexString(
                                   absl::string_view(reinterpret_cast<const char*>(digest), size)));
}

bool IsDigest(absl::string_view text) {
  return absl::StartsWith(text, kPrefix) && text.size() == kPrefix.size() + kHexLength &&
         text.substr(kPrefix.size()).find_first_not_of("0123456789abcdef") ==
             absl::string_view::npos;
}

absl::Status CheckDigest(absl::string_view text, absl::string_view what) {
  if (IsDigest(text)) return absl::OkStatus();
  const absl::string_view shown = text.substr(0, 80);
  if (absl::StartsWith(text, "sha512:")) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has the sha512 digest \"", absl::CEscape(shown),
                     "...\"; sha512 is not supported: build the image with sha256 digests"));
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " has digest \"", absl::CEscape(shown),
                                                 "\"; valid is sha256: and 64 hex digits"));
}

absl::string_view DigestHex(absl::string_view digest) {
  return digest.substr(kPrefix.size());
}

std::string DigestOf(absl::string_view content) {
  Sha256 sha;
  sha.Update(content.data(), content.size());
  return sha.Finish();
}

absl::StatusOr<std::string> DigestOfFile(int fd, absl::string_view name) {
  Sha256 sha;
  std::vector<char> buffer(128 * 1024);
  while (true) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", name));
    if (n == 0) return sha.Finish();
    sha.Update(buffer.data(), static_cast<size_t>(n));
  }
}

std::string ChainId(absl::string_view below, absl::string_view diff_id) {
  if (below.empty()) return std::string(diff_id);
  return DigestOf(absl::StrCat(below, " ", diff_id));
}

}  // namespace plimsoll::image
