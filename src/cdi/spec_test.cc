#include "cdi/spec.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kWhole[] = R"({
	"cdiVersion": "0.7.0",
	"kind": "vendor.com/net.card",
	"annotations": {"made-by": "a tool"},
	"devices": [{
		"name": "0",
		"annotations": {},
		"containerEdits": {
			"deviceNodes": [{"path": "/dev/card", "hostPath": "/dev/card0", "type": "c", "major": 10,
				"minor": 200, "fileMode": 432, "permissions": "rw", "uid": 7, "gid": 8}],
			"additionalGids": [5, 0]
		}
	}],
	"containerEdits": {
		"env": ["CARD=\u00e9=1"],
		"mounts": [{"hostPath": "/lib/card", "containerPath": "/lib/card", "type": "bind",
			"options": ["ro", "bind"]}],
		"hooks": [{"hookName": "createContainer", "path": "/bin/ldconfig", "args": ["ldconfig"],
			"env": ["A=B"], "timeout": 3}],
		"intelRdt": {"closID": "gold", "l3CacheSchema": "L3:0=f", "memBwSchema": "MB:0=50",
			"enableCMT": true, "enableMBM": false}
	}
})";

void ExpectWhole(const Spec& spec) {
  EXPECT_EQ(spec.kind, "vendor.com/net.card");
  EXPECT_THAT(spec.edits.env, ElementsAre("CARD=\xc3\xa9=1"));
  EXPECT_THAT(spec.edits.mounts,
              ElementsAre(CdiMount{"/lib/card", "/lib/card", "bind", {"ro", "bind"}}));
  EXPECT_THAT(spec.edits.hooks,
              ElementsAre(Hook{"createContainer", "/bin/ldconfig", {"ldconfig"}, {"A=B"}, 3}));
  EXPECT_EQ(spec.edits.intel_rdt, (IntelRdt{"gold", "L3:0=f", "MB:0=50", true, false}));
  ASSERT_EQ(spec.devices.size(), 1);
  const ContainerEdits& edits = spec.devices.at("0");
  EXPECT_THAT(edits.device_nodes,
              ElementsAre(DeviceNode{"/dev/card", "/dev/card0", "c", 10, 200, 0660, "rw", 7, 8}));
  EXPECT_THAT(edits.additional_gids, ElementsAre(5, 0));
}

TEST(CdiSpecTest, EveryMemberOfAJsonFileIsRead) {
  Spec spec;
  ASSERT_EQ(ParseSpec(kWhole, SpecFormat::kJson, "a.json", &spec), absl::OkStatus());
  ExpectWhole(spec);
}

TEST(CdiSpecTest, YamlIsReadAsKubernetesReadsIt) {
  constexpr char kText[] = R"(
cdiVersion: 0.7.0
kind: vendor.com/net.card
annotations: {made-by: a tool}
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - {path: /dev/card, hostPath: /dev/card0, type: c, major: 10, minor: 200, fileMode: 0660,
       permissions: rw, uid: 7, gid: 8}
    additionalGids: [5, 0]
containerEdits:
  env: ["CARD=\u00e9=1"]
  mounts: [{hostPath: /lib/card, containerPath: /lib/card, type: bind, options: [ro, bind]}]
  hooks: [{hookName: createContainer, path: /bin/ldconfig, args: [ldconfig], env: [A=B],
           timeout: 3}]
  intelRdt: {closID: gold, l3CacheSchema: "L3:0=f", memBwSchema: "MB:0=50", enableCMT: true}
)";
  Spec spec;
  ASSERT_EQ(ParseSpec(kText, SpecFormat::kYaml, "a.yaml", &spec), absl::OkStatus());
  ExpectWhole(spec);
}

// The error for a file that is valid but for these parts.
std::string Refusal(const std::string& edits, const std::string& version = "0.7.0",
                    const std::string& kind = "v.com/c", const std::string& name = "a") {
  const std::string text =
      absl::StrCat(R"({"cdiVersion":")", version, R"(","kind":")", kind,
                   R"(","devices":[{"name":")", name, R"(","containerEdits":)", edits, "}]}");
  Spec spec;
  const absl::Status status = ParseSpec(text, SpecFormat::kJson, "f.json", &spec);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(CdiSpecTest, WhatIsWrongIsNamedWithItsPlace) {
  constexpr char kEnv[] = R"({"env":["A=b"]})";
  EXPECT_EQ(Refusal(kEnv), "");
  EXPECT_EQ(Refusal(R"({"env":["A=b"],"net":1})"),
            "f.json: devices[0].containerEdits.net: unknown, valid here: env, deviceNodes, mounts, "
            "hooks, additionalGids, intelRdt");
  EXPECT_EQ(Refusal(R"({"env":["A=b","=c"]})"),
            "f.json: devices[0].containerEdits.env[1]: must be NAME=value");
  EXPECT_THAT(Refusal(R"({"env":[5]})"), HasSubstr("env[0]: expected a string, found 5"));
  EXPECT_THAT(Refusal(R"({"env":{}})"), HasSubstr("env: expected a list"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("is empty: the device would change nothing"));
  EXPECT_THAT(Refusal(R"({"env":["A=\u0000"]})"), HasSubstr("has a NUL in it"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{}]})"), HasSubstr("deviceNodes[0].path: is missing"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"dev/a"}]})"),
              HasSubstr("must be an absolute path"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"/a","type":"x"}]})"),
              HasSubstr("type: must be b, c, u or p"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"/a","major":-1}]})"), HasSubstr("major: must"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"/a","uid":4294967296}]})"),
              HasSubstr("uid: 4294967296 is not 0 to 4294967295"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"/a","permissions":"rx"}]})"),
              HasSubstr("permissions: must be made of r, w and m"));
  EXPECT_THAT(Refusal(R"({"mounts":[{"hostPath":"/a","containerPath":"//"}]})"),
              HasSubstr("must not be the container's root"));
  EXPECT_THAT(Refusal(R"({"mounts":[{"hostPath":"/a","containerPath":"/."}]})"),
              HasSubstr("must not be the container's root"));
  EXPECT_THAT(Refusal(R"({"mounts":[{"hostPath":"a","containerPath":"/b"}]})"),
              HasSubstr("mounts[0].hostPath: must be an absolute path"));
  EXPECT_THAT(Refusal(R"({"hooks":[{"hookName":"now","path":"/a"}]})"),
              HasSubstr("hookName: must be one of prestart"));
  EXPECT_THAT(Refusal(R"({"hooks":[{"hookName":"poststop","path":"/a","timeout":0}]})"),
              HasSubstr("timeout: must be at least 1 second"));
  EXPECT_THAT(Refusal(R"({"intelRdt":{"closID":".."}})"), HasSubstr("closID"));
  EXPECT_THAT(Refusal(kEnv, "0.7.0", "v.com"), HasSubstr("kind: \"v.com\" is no kind of device"));
  EXPECT_THAT(Refusal(kEnv, "0.7.0", "v.com/c", "-a"), HasSubstr("devices[0].name"));
}

TEST(CdiSpecTest, AnOlderFileHasNothingOfLaterVersions) {
  constexpr char kEnv[] = R"({"env":["A=b"]})";
  for (const char* version :
       {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "v0.3.0"}) {
    EXPECT_EQ(Refusal(kEnv, version), "");
  }
  for (const char* version : {"0.2.0", "0.9.0", "1.1.0", "0.3", "0.3.x", "0..3", "", "0.3.0.0"}) {
    EXPECT_THAT(Refusal(kEnv, version), HasSubstr("cdiVersion")) << version;
  }
  EXPECT_THAT(
      Refusal(R"({"mounts":[{"hostPath":"/a","containerPath":"/b","type":"bind"}]})", "0.3.0"),
      HasSubstr("a mount's type needs cdiVersion 0.4.0 or later"));
  EXPECT_THAT(Refusal(R"({"deviceNodes":[{"path":"/a","hostPath":"/b"}]})", "0.4.0"),
              HasSubstr("hostPath needs cdiVersion 0.5.0"));
  EXPECT_THAT(Refusal(kEnv, "0.4.0", "v.com/c", "0"), HasSubstr("needs cdiVersion 0.5.0"));
  EXPECT_THAT(Refusal(kEnv, "0.5.0", "v.com/c.d"), HasSubstr("needs cdiVersion 0.6.0"));
  EXPECT_THAT(Refusal(R"({"additionalGids":[4]})", "0.6.0"), HasSubstr("needs cdiVersion 0.7.0"));
  EXPECT_THAT(Refusal(R"({"intelRdt":{"closID":"a"}})", "0.6.0"),
              HasSubstr("needs cdiVersion 0.7.0"));
}

TEST(CdiSpecTest, TextThatIsNoDocumentIsRefused) {
  Spec spec;
  const auto refuse = [&spec](const std::string& text, SpecFormat format) {
    const absl::Status status = ParseSpec(text, format, "f", &spec);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text.substr(0, 50) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refuse("{", SpecFormat::kJson), HasSubstr("f: not valid JSON"));
  EXPECT_THAT(refuse("", SpecFormat::kJson), HasSubstr("not valid JSON"));
  EXPECT_THAT(refuse("[]", SpecFormat::kJson), HasSubstr("expected an object"));
  EXPECT_THAT(refuse(R"({"kind":"a/b","kind":"c/d"})", SpecFormat::kJson),
              HasSubstr("member \"kind\" is there twice"));
  EXPECT_THAT(refuse(std::string(1000, '['), SpecFormat::kJson), HasSubstr("not valid JSON"));
  EXPECT_THAT(refuse(std::string(100, '[') + std::string(100, ']'), SpecFormat::kJson),
              HasSubstr("nested deeper"));
  EXPECT_THAT(refuse("a: [\n", SpecFormat::kYaml), HasSubstr("not valid YAML"));
  EXPECT_THAT(refuse("", SpecFormat::kYaml), HasSubstr("0 documents"));
  EXPECT_THAT(refuse("a: 1\n---\nb: 1\n", SpecFormat::kYaml), HasSubstr("2 documents"));
  EXPECT_THAT(refuse("kind: a/b\nkind: a/b\n", SpecFormat::kYaml),
              HasSubstr("line 2: member \"kind\" is there twice"));
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const char before = static_cast<char>(c - 1);
    absl::StrAppend(&bomb, std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 10; ++i) absl::StrAppend(&bomb, "*", std::string(1, before), ", ");
    absl::StrAppend(&bomb, "]\n");
  }
  EXPECT_THAT(refuse(bomb, SpecFormat::kYaml), HasSubstr("more than 100000 values"));
  EXPECT_THAT(refuse(std::string(kMaxSpecBytes + 1, ' '), SpecFormat::kJson),
              HasSubstr("larger than"));
}

// The message goes to clients as a protobuf string.
TEST(CdiSpecTest, WhatIsSaidOfABadFileIsShortAndUtf8) {
  const std::string long_name(100000, 'n');
  const auto refuse = [](const std::string& text) {
    Spec spec;
    const absl::Status status = ParseSpec(text, SpecFormat::kJson, "f", &spec);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_LT(status.message().size(), 300u);
    return std::string(status.message());
  };
  for (const std::string& message :
       {refuse("\x1f\x8b\x08 of gzip"), refuse("{\"\xff\": 1}"), refuse("{\"a\": \"" + long_name),
        refuse(absl::StrCat("{\"", long_name, "\":1,\"", long_name, "\":1}"))}) {
    for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~') << message;
  }
  // The cut falls between characters, of which each has two bytes.
  std::string umlauts = "a";
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xa4";
  const std::string cut = "a" + umlauts.substr(1, 78);
  EXPECT_THAT(refuse(absl::StrCat(R"({"kind":")", umlauts, "\"}")),
              HasSubstr(absl::StrCat("\"", cut, "...\" is no kind")));
  EXPECT_THAT(
      refuse(absl::StrCat(R"({"kind":"v.com/c","cdiVersion":"0.5.0","devices":[{"name":"a",)",
                          R"("containerEdits":{"env":["A=b"]}}],")", umlauts, "\":1}")),
      HasSubstr(absl::StrCat(cut, "...: unknown")));
}

TEST(CdiSpecTest, OfABadFileTheKindIsKnown) {
  Spec spec;
  EXPECT_FALSE(ParseSpec(R"({"kind":"v.com/c"})", SpecFormat::kJson, "f", &spec).ok());
  EXPECT_EQ(spec.kind, "v.com/c");
}

}  // namespace
}  // namespace plimsoll::cdi
