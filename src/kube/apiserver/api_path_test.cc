#include "kube/apiserver/api_path.h"

#include <gtest/gtest.h>

namespace plimsoll::kube {
namespace {

TEST(ApiPath, EscapesWhatWouldEndAValue) {
  EXPECT_EQ(EscapedForUrl("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(EscapedForUrl("a=b&c/d e?#%\r\n\xc3\xa9"), "a%3Db%26c%2Fd%20e%3F%23%25%0D%0A%C3%A9");
}

TEST(ApiPath, PutsParametersBehindThePath) {
  EXPECT_EQ(ApiPathWith("/api/v1/nodes", {}), "/api/v1/nodes");
  EXPECT_EQ(ApiPathWith("/api/v1/nodes", {{"limit", "5"}, {"continue", ""}, {"watch", "true"}}),
            "/api/v1/nodes?limit=5&watch=true");
  EXPECT_EQ(ApiPathWith("/api/v1/nodes?limit=5", {{"fieldSelector", "metadata.name=n1"}}),
            "/api/v1/nodes?limit=5&fieldSelector=metadata.name%3Dn1");
}

}  // namespace
}  // namespace plimsoll::kube
