#include "nri/adjust/validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

api::ValidateContainerAdjustmentRequest RequestFor(const std::string& adjust,
                                                   const std::string& container = "") {
  Creation creation = CreationOf(container);
  EXPECT_EQ(creation.Take("10-a", Answer(adjust)), absl::OkStatus());
  return creation.ForValidators({"10-a"});
}

constexpr char kPolicy[] = R"(linux { seccomp_policy { default_action: "SCMP_ACT_LOG" } })";

TEST(ValidatorTest, SwitchesForbidChanges) {
  struct Case {
    bool ValidatorConfig::*setting;
    std::string adjust;
    std::string container;
    std::string message;
  };
  const Case kCases[] = {
      {&ValidatorConfig::reject_oci_hooks, R"(hooks { poststop { path: "/h" } })", "",
       "plugin 10-a changes hooks, which nri.validator.reject_oci_hooks forbids"},
      {&ValidatorConfig::reject_namespaces, R"(linux { namespaces { type: "ipc" } })", "",
       "plugin 10-a changes linux.namespaces \"ipc\", which nri.validator.reject_namespaces "
       "forbids"},
      {&ValidatorConfig::reject_namespaces, R"(linux { namespaces { type: "-ipc" } })", "",
       "plugin 10-a changes linux.namespaces \"ipc\", which nri.validator.reject_namespaces "
       "forbids"},
      {&ValidatorConfig::reject_sysctls, R"(linux { sysctl { key: "net.a" value: "1" } })", "",
       "plugin 10-a changes linux.sysctl \"net.a\", which nri.validator.reject_sysctls forbids"},
      {&ValidatorConfig::reject_unconfined_seccomp, kPolicy, "",
       "plugin 10-a changes linux.seccomp_policy of a container with the profile Unconfined, "
       "which nri.validator.reject_unconfined_seccomp forbids"},
      {&ValidatorConfig::reject_unconfined_seccomp, kPolicy,
       "linux { seccomp_profile { profile_type: UNCONFINED } }",
       "plugin 10-a changes linux.seccomp_policy of a container with the profile Unconfined, "
       "which nri.validator.reject_unconfined_seccomp forbids"},
      {&ValidatorConfig::reject_runtime_default_seccomp, kPolicy,
       "linux { seccomp_profile { profile_type: RUNTIME_DEFAULT } }",
       "plugin 10-a changes linux.seccomp_policy of a container with the profile RuntimeDefault, "
       "which nri.validator.reject_runtime_default_seccomp forbids"},
      {&ValidatorConfig::reject_custom_seccomp, kPolicy,
       "linux { seccomp_profile { profile_type: LOCALHOST } }",
       "plugin 10-a changes linux.seccomp_policy of a container with the profile Localhost, which "
       "nri.validator.reject_custom_seccomp forbids"},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.message);
    const auto request = RequestFor(one.adjust, one.container);
    ValidatorConfig config;
    EXPECT_EQ(Validate(config, request), absl::OkStatus());
    config.*one.setting = true;
    EXPECT_EQ(Validate(config, request), absl::PermissionDeniedError(one.message));
    EXPECT_EQ(Validate(config, RequestFor(R"(args: "x")", one.container)), absl::OkStatus());
    // Each switch is about its own.
    config = {.reject_oci_hooks = true,
              .reject_runtime_default_seccomp = true,
              .reject_unconfined_seccomp = true,
              .reject_custom_seccomp = true,
              .reject_namespaces = true,
              .reject_sysctls = true};
    config.*one.setting = false;
    EXPECT_EQ(Validate(config, request), absl::OkStatus());
  }
}

TEST(ValidatorTest, AllPluginsWithHooksAreNamed) {
  Creation creation = CreationOf();
  const std::string hooks = R"(hooks { poststop { path: "/h" } })";
  ASSERT_EQ(creation.Take("10-a", Answer(hooks)), absl::OkStatus());
  ASSERT_EQ(creation.Take("20-b", Answer(hooks)), absl::OkStatus());
  EXPECT_EQ(Validate({.reject_oci_hooks = true}, creation.ForValidators({})),
            absl::PermissionDeniedError("plugin 10-a,20-b changes hooks, which "
                                        "nri.validator.reject_oci_hooks forbids"));
}

api::ValidateContainerAdjustmentRequest RequestWith(const std::string& pod,
                                                    const std::vector<std::string>& plugins) {
  Creation creation(FromText<api::PodSandbox>(pod),
                    FromText<api::Container>(R"(id: "c1" name: "web")"));
  return creation.ForValidators(plugins);
}

TEST(ValidatorTest, RequiredPluginsMustHaveSeenTheContainer) {
  const ValidatorConfig config{.required_plugins = {"topology", "10-first"}};
  EXPECT_EQ(Validate(config, RequestWith("", {"10-first", "90-topology"})), absl::OkStatus());
  EXPECT_EQ(Validate(config, RequestWith("", {"20-first", "90-topology"})),
            absl::PermissionDeniedError("plugin 10-first has not seen the container, and "
                                        "nri.validator.required_plugins requires it"));
  EXPECT_EQ(Validate(config, RequestWith("", {})),
            absl::PermissionDeniedError("plugin topology has not seen the container, and "
                                        "nri.validator.required_plugins requires it"));
}

std::string Annotated(const std::string& key, const std::string& value) {
  return absl::StrCat("annotations { key: \"", key, "\" value: '", value, "' } ");
}

TEST(ValidatorTest, AnnotationsRequirePlugins) {
  const std::string key = kRequiredPluginsAnnotation;
  const std::string kPods[] = {
      Annotated(key, "- first\\n- 20-second"), Annotated(key, "[first, 20-second]"),
      Annotated(key, R"(["first", "20-second"])"), Annotated(key + "/pod", "[first, 20-second]"),
      Annotated(key + "/container.web", "[first, 20-second]") + Annotated(key, "[other]")};
  for (const std::string& pod : kPods) {
    SCOPED_TRACE(pod);
    EXPECT_EQ(Validate({}, RequestWith(pod, {"10-first", "20-second"})), absl::OkStatus());
    const absl::Status status = Validate({}, RequestWith(pod, {"10-first", "21-second"}));
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(status.ToString(),
                testing::HasSubstr("plugin 20-second has not seen the container, and the pod's "
                                   "annotation required-plugins.noderesource.dev"));
  }
  // A request about another container, or none at all.
  EXPECT_EQ(Validate({}, RequestWith(Annotated(key + "/container.other", "[first]"), {})),
            absl::OkStatus());
  EXPECT_EQ(Validate({}, RequestWith(Annotated(key, "[]"), {})), absl::OkStatus());
  EXPECT_EQ(Validate({}, RequestWith(Annotated(key, ""), {})), absl::OkStatus());
}

TEST(ValidatorTest, AnnotationsThatCantBeReadAreRefused) {
  const std::string key = kRequiredPluginsAnnotation;
  const std::string long_text = "[" + std::string(20'000, 'x') + "]";
  std::string many = "[";
  for (int i = 0; i < 101; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", "\"a", i, "\"");
  for (const std::string& value :
       {std::string("first"), std::string("{a: b}"), std::string("[a"), std::string("[a]}"),
        std::string("- a\\n---\\n- b"), std::string("[[a]]"), std::string("[1]"), long_text,
        many + "]"}) {
    const absl::Status status = Validate({}, RequestWith(Annotated(key, value), {}));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(status.ToString(),
                testing::HasSubstr("annotation required-plugins.noderesource.dev of the pod is"));
  }
}

TEST(ValidatorTest, AnAnnotationToleratesMissingPlugins) {
  ValidatorConfig config{.required_plugins = {"first"}, .tolerate_missing_annotation = "x.dev/t"};
  const auto status_of = [&](const std::string& pod) {
    return Validate(config, RequestWith(pod, {})).code();
  };
  EXPECT_EQ(status_of(""), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status_of(Annotated("x.dev/t", "true")), absl::StatusCode::kOk);
  EXPECT_EQ(status_of(Annotated("x.dev/t/pod", "1")), absl::StatusCode::kOk);
  EXPECT_EQ(status_of(Annotated("x.dev/t", "false")), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status_of(Annotated("x.dev/t/container.web", "F") + Annotated("x.dev/t", "true")),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status_of(Annotated("x.dev/t/container.web", "T") +
                      Annotated(kRequiredPluginsAnnotation, "[second]")),
            absl::StatusCode::kOk);
  EXPECT_EQ(Validate(config, RequestWith(Annotated("x.dev/t", "yes"), {})),
            absl::InvalidArgumentError("annotation x.dev/t of the pod is \"yes\": true or false is "
                                       "right"));
  config.tolerate_missing_annotation.clear();
  EXPECT_EQ(status_of(Annotated("x.dev/t", "true")), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace plimsoll::nri
