#include "dial/redirect.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace plimsoll::dial {
namespace {

HttpGetRequest Original() {
  return {.tls = false,
          .host = "web",
          .port = 8080,
          .path = "/a/b?c=d",
          .headers = {},
          .user_agent = ""};
}

struct Case {
  std::string location;
  bool tls;
  uint16_t port;
  std::string path;
};

TEST(Redirect, LeadsToPlacesOfTheSameHost) {
  for (const Case& each :
       std::initializer_list<Case>{{"/x", false, 8080, "/x"},
                                   {"x", false, 8080, "/a/x"},
                                   {"?e=f", false, 8080, "/a/b?e=f"},
                                   {"", false, 8080, "/a/b?c=d"},
                                   {"#g", false, 8080, "/a/b?c=d"},
                                   {"x?u=http://y/z", false, 8080, "/a/x?u=http://y/z"},
                                   {"http://web", false, 80, "/"},
                                   {"HTTPS://WEB/s#h", true, 443, "/s"},
                                   {"https://web:8443?q", true, 8443, "/?q"},
                                   {"//user:word@web:81/p", false, 81, "/p"}}) {
    HttpGetRequest request = Original();
    ASSERT_TRUE(Redirect(each.location, request)) << each.location;
    EXPECT_EQ(request.tls, each.tls) << each.location;
    EXPECT_EQ(request.port, each.port) << each.location;
    EXPECT_EQ(request.path, each.path) << each.location;
    EXPECT_EQ(request.host, "web");
  }
}

TEST(Redirect, KnowsAnAddressInBrackets) {
  HttpGetRequest request = Original();
  request.host = "fd00::1";
  ASSERT_TRUE(Redirect("http://[fd00::1]:90/x", request));
  EXPECT_EQ(request.port, 90);
  EXPECT_FALSE(Redirect("http://[fd00::2]/", request));
  EXPECT_FALSE(Redirect("http://[fd00::1", request));
}

TEST(Redirect, LeadsNowhereElse) {
  for (const char* location : {"http://other/", "//other", "ftp://web/", "mailto:a@web",
                               "javascript:x", "http://", "http:///x", "http://web:0/",
                               "http://web:65536/", "http://web:port/", "http://web@other/"}) {
    HttpGetRequest request = Original();
    EXPECT_FALSE(Redirect(location, request)) << location;
    EXPECT_EQ(request.path, "/a/b?c=d");
    EXPECT_EQ(request.port, 8080);
  }
}

}  // namespace
}  // namespace plimsoll::dial
