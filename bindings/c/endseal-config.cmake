# The targets endseal::endseal, which is shared, and endseal::static.
get_filename_component(endseal_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET endseal::endseal)
  add_library(endseal::endseal SHARED IMPORTED)
  set_target_properties(endseal::endseal PROPERTIES
    IMPORTED_LOCATION "${endseal_prefix}/lib/libendseal.so.1"
    IMPORTED_SONAME "libendseal.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${endseal_prefix}/include")
  add_library(endseal::static STATIC IMPORTED)
  set_target_properties(endseal::static PROPERTIES
    IMPORTED_LOCATION "${endseal_prefix}/lib/libendseal.a"
    INTERFACE_INCLUDE_DIRECTORIES "${endseal_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()
