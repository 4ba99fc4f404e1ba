// The form of the expressions. Their meaning is an API server's; packaging/kube/cluster.yaml holds
// what was tried on one.
#include "kube/manifests/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kube/manifests/documents_for_test.h"
#include "qos/annotations.h"

namespace plimsoll::kube {
namespace {

using testing::HasSubstr;
using testing::Not;

// The first bracket or quote that lacks its other half; empty: none does.
std::string Unbalanced(const std::string& expression) {
  std::string open;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\'' || c == '"') {
      const size_t begin = i;
      for (++i; i < expression.size() && expression[i] != c; ++i) {
        if (expression[i] == '\\') ++i;
      }
      if (i >= expression.size()) return expression.substr(begin, 20);
    } else if (absl::StrContains("([{", c)) {
      open.push_back(c == '(' ? ')' : static_cast<char>(c + 2));
    } else if (absl::StrContains(")]}", c)) {
      if (open.empty() || open.back() != c) return expression.substr(i, 20);
      open.pop_back();
    }
  }
  return open;
}

ManifestOptions Policies() {
  ManifestOptions options = ExampleClasses();
  options.parts = {ManifestPart::kPolicies, ManifestPart::kRbac};
  // A hashed one, and one whose name needs escapes nowhere but looks like a template's hole.
  options.classes.push_back({qos::Level::kContainer, "rdt", "system/default"});
  options.classes.push_back({qos::Level::kContainer, "example.com/gpu", "Big"});
  return options;
}

YAML::Node Spec(const ManifestOptions& options, const std::string& name) {
  auto documents = Documents(Printed(options));
  EXPECT_TRUE(documents.contains(name)) << name;
  return documents[name]["spec"];
}

std::string Variable(const YAML::Node& spec, const std::string& name) {
  for (const auto& variable : spec["variables"]) {
    if (variable["name"].as<std::string>() == name) return variable["expression"].as<std::string>();
  }
  ADD_FAILURE() << "no variable " << name;
  return "";
}

TEST(Policies, ExpressionsAreBalancedAndFilled) {
  size_t count = 0;
  for (const auto& [name, document] : Documents(Printed(Policies()))) {
    std::vector<std::string> expressions;
    Expressions(document, &expressions);
    for (const std::string& expression : expressions) {
      ++count;
      EXPECT_EQ(Unbalanced(expression), "") << name << ": " << expression;
      EXPECT_THAT(expression, Not(HasSubstr("@"))) << name;
    }
  }
  EXPECT_GT(count, 60);
}

TEST(Policies, ABracketAloneIsFound) {
  EXPECT_EQ(Unbalanced("a.map(k, ['x)', \"'\"])"), "");
  EXPECT_EQ(Unbalanced("a.map(k, ']'"), ")");
  EXPECT_EQ(Unbalanced("a]"), "]");
  EXPECT_EQ(Unbalanced("'a"), "'a");
}

TEST(Policies, VariablesAreDeclaredBeforeTheirUse) {
  const std::regex use("variables\\.([A-Za-z0-9_]+)");
  for (const auto& [name, document] : Documents(Printed(Policies()))) {
    if (!absl::EndsWith(document["kind"].as<std::string>(), "AdmissionPolicy")) continue;
    std::set<std::string> declared;
    const auto check = [&, name = name](const std::string& text) {
      for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at) {
        EXPECT_TRUE(declared.contains((*at)[1])) << name << ": variables." << (*at)[1];
      }
    };
    const YAML::Node spec = document["spec"];
    for (const auto& variable : spec["variables"]) {
      check(variable["expression"].as<std::string>());
      EXPECT_TRUE(declared.insert(variable["name"].as<std::string>()).second) << name;
    }
    for (const char* part : {"validations", "mutations"}) {
      std::vector<std::string> expressions;
      if (spec[part]) Expressions(spec[part], &expressions);
      for (const std::string& expression : expressions) check(expression);
    }
    std::vector<std::string> conditions;
    if (spec["matchConditions"]) Expressions(spec["matchConditions"], &conditions);
    for (const std::string& condition : conditions) {
      EXPECT_THAT(condition, Not(HasSubstr("variables."))) << name;
    }
  }
}

// The order is that of the runtime: a key that it prefers comes first in the policy's list.
TEST(Policies, KeysAreTheRuntimesInItsOrder) {
  const YAML::Node spec = Spec(Policies(), "MutatingAdmissionPolicy classes.plimsoll.dev");
  const qos::AnnotationPolicy all = {{"rdt", {"container", "default"}},
                                     {"oom", {"container", "default"}}};
  for (const std::string type : {"rdt", "oom"}) {
    std::string expression;
    for (const auto& variable : spec["variables"]) {
      const std::string text = variable["expression"].as<std::string>();
      if (absl::StrContains(text, absl::StrCat("container['", type, "']"))) expression = text;
    }
    std::vector<std::string> keys;
    const std::regex literal("'([^']*/[^']*)'");
    for (std::sregex_iterator at(expression.begin(), expression.end(), literal), end; at != end;
         ++at) {
      const std::string key = (*at)[1];
      keys.push_back(absl::EndsWith(key, "container.") ? absl::StrCat(key, "web") : key);
    }
    ASSERT_EQ(keys.size(), type == "rdt" ? 6 : 2) << expression;
    qos::Annotations annotations;
    for (const std::string& key : keys) annotations[key] = absl::StrCat("of ", key);
    for (const std::string& key : keys) {
      const auto found = qos::AnnotatedContainerClasses({}, annotations, "web", all);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->at(type).key, key);
      annotations.erase(key);
    }
    EXPECT_TRUE(annotations.empty());
  }
}

TEST(Policies, APodsClassIsAskedByItsFirstContainer) {
  const YAML::Node spec = Spec(Policies(), "MutatingAdmissionPolicy classes.plimsoll.dev");
  size_t found = 0;
  for (const auto& variable : spec["variables"]) {
    const std::string text = variable["expression"].as<std::string>();
    if (!absl::StrContains(text, "'lane.class.plimsoll.dev/sandbox' in")) continue;
    ++found;
    EXPECT_THAT(text, HasSubstr("p == '/spec/containers/0'"));
  }
  EXPECT_EQ(found, 1);
}

TEST(Policies, HashedNamesComeFromAMap) {
  const YAML::Node spec = Spec(Policies(), "MutatingAdmissionPolicy classes.plimsoll.dev");
  const std::string known = Variable(spec, "known");
  for (const qos::ClassId& id : Policies().classes) {
    EXPECT_THAT(known,
                HasSubstr(absl::StrCat("'", id.name, "': '", qos::ExtendedResourceName(id), "'")));
  }
  for (const auto& variable : spec["variables"]) {
    EXPECT_THAT(variable["expression"].as<std::string>(),
                Not(HasSubstr("example.com/gpu.class.plimsoll.dev")))
        << "no annotation can have such a key";
  }
}

TEST(Policies, WithoutClassesTheyAreWholeAsWell) {
  ManifestOptions options;
  options.parts = {ManifestPart::kPolicies};
  const YAML::Node spec = Spec(options, "ValidatingAdmissionPolicy class-names.plimsoll.dev");
  EXPECT_EQ(Variable(spec, "typeNames"), "{\n  'container': 'none',\n  'pod': 'none'}");
  EXPECT_EQ(Variable(spec, "known"), "{\n  'container': {},\n  'pod': {}}");
}

TEST(Policies, AClosedClusterAllowsWhatNamespacesList) {
  ManifestOptions options = Policies();
  for (const bool closed : {false, true}) {
    options.closed = closed;
    for (const char* name : {"class-resources.plimsoll.dev", "class-claims.plimsoll.dev"}) {
      const YAML::Node spec = Spec(options, absl::StrCat("ValidatingAdmissionPolicy ", name));
      EXPECT_TRUE(absl::EndsWith(Variable(spec, "allowed"), closed ? ": []" : ": ['*']")) << name;
    }
  }
}

TEST(Policies, ChangesAreRefusedOnEveryWayToAPodsAnnotations) {
  const YAML::Node rule =
      Spec(Policies(), "ValidatingAdmissionPolicy class-changes.plimsoll.dev")["matchConstraints"]
                                                                              ["resourceRules"][0];
  EXPECT_THAT(
      rule["resources"].as<std::vector<std::string>>(),
      testing::ElementsAre("pods", "pods/status", "pods/ephemeralcontainers", "pods/resize"));
  EXPECT_THAT(rule["operations"].as<std::vector<std::string>>(), testing::ElementsAre("UPDATE"));
}

// kubelet asks the driver for a claim's first pod alone.
TEST(Policies, AClaimIsHeldToOnePodByItsReservations) {
  const YAML::Node spec = Spec(Policies(), "ValidatingAdmissionPolicy class-sharing.plimsoll.dev");
  const YAML::Node rule = spec["matchConstraints"]["resourceRules"][0];
  EXPECT_THAT(rule["resources"].as<std::vector<std::string>>(),
              testing::ElementsAre("resourceclaims/status"));
  EXPECT_THAT(rule["operations"].as<std::vector<std::string>>(), testing::ElementsAre("UPDATE"));
  EXPECT_THAT(spec["matchConditions"][0]["expression"].as<std::string>(),
              HasSubstr("oldObject.?status.?reservedFor"))
      << "a pod can leave a claim that was shared before";
}

TEST(Policies, EachPlimsollKubeIsHeldToItsNamespacesAccount) {
  ManifestOptions options = Policies();
  options.name_space = "node-agents";
  for (const char* name : {"own-node", "own-slices", "own-topology", "own-events"}) {
    const YAML::Node spec =
        Spec(options, absl::StrCat("ValidatingAdmissionPolicy ", name, ".plimsoll.dev"));
    EXPECT_EQ(spec["matchConditions"][0]["expression"].as<std::string>(),
              "request.userInfo.username == 'system:serviceaccount:node-agents:plimsoll-kube'");
  }
}

}  // namespace
}  // namespace plimsoll::kube
