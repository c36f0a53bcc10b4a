# find_package(ndcore CONFIG REQUIRED) defines ndcore::ndcore, a static library of the C core that is built with the project:
#
#     cmake -Dndcore_DIR="$(python -c 'import ndcore; print(ndcore.get_include())')" ...
#     target_link_libraries(program PRIVATE ndcore::ndcore)
include_guard(GLOBAL)
cmake_policy(VERSION 3.15...4.0)

file(GLOB ndcore_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*.c")
add_library(ndcore STATIC EXCLUDE_FROM_ALL ${ndcore_sources})
add_library(ndcore::ndcore ALIAS ndcore)
target_include_directories(ndcore PUBLIC "${CMAKE_CURRENT_LIST_DIR}")
set_target_properties(ndcore PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                        POSITION_INDEPENDENT_CODE ON)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(ndcore PRIVATE -O3)      # gcc vectorises loops at this level only
endif()
unset(ndcore_sources)
