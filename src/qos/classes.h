// Classes that a pod or container asks for and holds: plain data.
#ifndef PLIMSOLL_QOS_CLASSES_H_
#define PLIMSOLL_QOS_CLASSES_H_

#include <map>
#include <string>
#include <vector>

namespace plimsoll::qos {

// Type -> class. In a request an empty class means the type's default.
using ClassNames = std::map<std::string, std::string>;

// A class as stored with the pod or container.
struct HeldClass {
  std::string name;       // empty only while a first class is being taken (see changing_to)
  bool implicit = false;  // the type's default when the holder was made, named by nobody
  // Not empty while a change is under way: the class that the kernel may have already. A daemon
  // that finds it set at its start was killed in the middle and puts the holder back into `name`.
  std::string changing_to;
  // Files that the class has set (ClassType::OwnedFiles), for a start that finds it redefined.
  std::vector<std::string> files;
  bool operator==(const HeldClass&) const = default;
};
using HeldClasses = std::map<std::string, HeldClass>;  // by type

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASSES_H_
