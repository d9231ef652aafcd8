#include "CSimdjson.h"

#include <simdjson.h>

const char *martlet_json_implementation(void) {
  static const std::string name = simdjson::get_active_implementation()->name();
  return name.c_str();
}
