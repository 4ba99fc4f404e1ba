// The body of an HTTP message as Boost.Beast fills it, piece by piece. Beast's own string_body
// reserves as much memory as the field Content-Length says, which may be a lie.
#ifndef PLIMSOLL_DIAL_KEPT_BODY_H_
#define PLIMSOLL_DIAL_KEPT_BODY_H_

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll::dial {

// Keeps the first `kMostBytes` of the body; the rest is read and dropped.
template <size_t kMostBytes>
struct KeptBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t taken = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers);
           it != boost::asio::buffer_sequence_end(buffers); ++it) {
        const boost::asio::const_buffer part = *it;
        const size_t room = kMostBytes - std::min(body_.size(), kMostBytes);
        body_.append(static_cast<const char*>(part.data()), std::min(part.size(), room));
        taken += part.size();
      }
      return taken;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_KEPT_BODY_H_
