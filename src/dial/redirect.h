// The target of a redirect. Used by http_get.cc only.
#ifndef PLIMSOLL_DIAL_REDIRECT_H_
#define PLIMSOLL_DIAL_REDIRECT_H_

#include "absl/strings/string_view.h"
#include "dial/http_get.h"

namespace plimsoll::dial {

// Makes `request` one for the URL of a Location header: absolute, or relative to the request's own.
// False, with the request as it was: it leads to another host, or isn't http or https.
bool Redirect(absl::string_view location, HttpGetRequest& request);

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_REDIRECT_H_
