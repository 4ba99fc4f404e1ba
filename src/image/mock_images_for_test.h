// For tests: a mocked image service.
#ifndef PLIMSOLL_IMAGE_MOCK_IMAGES_FOR_TEST_H_
#define PLIMSOLL_IMAGE_MOCK_IMAGES_FOR_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "image/image_service.h"

namespace plimsoll::image {

class MockImages : public ImageService {
 public:
  MOCK_METHOD(absl::StatusOr<Image>, Import,
              (const std::string&, absl::string_view, const ProgressFn&,
               const std::function<bool()>&),
              (override));
  MOCK_METHOD(absl::StatusOr<Image>, Pull,
              (absl::string_view, const PullOptions&, const ProgressFn&), (override));
  MOCK_METHOD(absl::StatusOr<Image>, Find, (absl::string_view), (const, override));
  MOCK_METHOD(std::vector<Image>, List, (), (const, override));
  MOCK_METHOD(absl::Status, Remove, (absl::string_view), (override));
  MOCK_METHOD(absl::StatusOr<std::shared_ptr<LayerLease>>, Lease, (absl::string_view), (override));
  MOCK_METHOD(absl::StatusOr<std::shared_ptr<LayerLease>>, LeaseChain,
              (const std::vector<std::string>&), (override));
  MOCK_METHOD(absl::Status, CollectGarbage, (), (override));
  MOCK_METHOD(absl::StatusOr<ImageUsage>, Usage, (), (const, override));
  MOCK_METHOD(std::string, directory, (), (const, override));
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_MOCK_IMAGES_FOR_TEST_H_
