# cmake -DCMAKE_TOOLCHAIN_FILE=…/toolchain.cmake: Objective-C as Apple's ABI has it, and Metal's headers and libraries of this folder.
get_filename_component(ASSAY_METAL_SDK "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASSAY_METAL_SDK)

find_program(ASSAY_METAL_CLANG NAMES $ENV{ASSAY_CLANG} clang clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 REQUIRED)
string(REGEX REPLACE "clang(-[0-9]+)?$" "clang++\\1" ASSAY_METAL_CLANGXX "${ASSAY_METAL_CLANG}")
foreach(language C OBJC)
  set(CMAKE_${language}_COMPILER "${ASSAY_METAL_CLANG}")
endforeach()
foreach(language CXX OBJCXX)
  set(CMAKE_${language}_COMPILER "${ASSAY_METAL_CLANGXX}")
endforeach()

# metal-cpp calls methods of null pointers, which clang may otherwise take as never happening.
set(ASSAY_METAL_FLAGS "-fblocks -fno-delete-null-pointer-checks -I\"${ASSAY_METAL_SDK}/include\"")
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT "${ASSAY_METAL_FLAGS}")
endforeach()
foreach(language OBJC OBJCXX)
  set(CMAKE_${language}_FLAGS_INIT "${ASSAY_METAL_FLAGS} -fobjc-runtime=macosx-15")
endforeach()
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L\"${ASSAY_METAL_SDK}/lib\" -Wl,-rpath,\"${ASSAY_METAL_SDK}/lib\"")
endforeach()
foreach(language C CXX OBJC OBJCXX)
  set(CMAKE_${language}_STANDARD_LIBRARIES_INIT "-lobjc")
endforeach()

# find_library(FOUNDATION Foundation) and the like.
list(PREPEND CMAKE_LIBRARY_PATH "${ASSAY_METAL_SDK}/lib")
list(PREPEND CMAKE_INCLUDE_PATH "${ASSAY_METAL_SDK}/include")
