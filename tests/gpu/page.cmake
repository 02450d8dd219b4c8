# Tests that need a GPU. They are built wherever the toolkit is, open the driver at run time, and report
# themselves as skipped where there is no device.
set(HITPROOF_CUDA_INCLUDE ${CUDAToolkit_INCLUDE_DIRS})
if(HITPROOF_CUDA AND HITPROOF_PAGE_CUDA)
  add_library(gpu_device STATIC device.cpp)
  target_link_libraries(gpu_device PUBLIC hitproof_options hitproof_kernels_page_cuda
    hitproof_kernels_page ${CMAKE_DL_LIBS})
  target_include_directories(gpu_device SYSTEM PUBLIC ${HITPROOF_CUDA_INCLUDE})

  add_executable(gpu_page_kernels_test page_kernels_test.cpp)
  target_link_libraries(gpu_page_kernels_test PRIVATE gpu_device hitproof_digest hitproof_journal
    GTest::gtest)
  add_test(NAME gpu_page_kernels_test COMMAND gpu_page_kernels_test)
  set_tests_properties(gpu_page_kernels_test PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS gpu)

  add_executable(page_cuda_bench ${CMAKE_CURRENT_LIST_DIR}/../bench/page_cuda_bench.cpp)
  target_link_libraries(page_cuda_bench PRIVATE gpu_device)
endif()

# Programs that move bytes by one route each, with the runtime linked dynamically and statically, and what
# the probe must have recorded of it.
if(HITPROOF_CUDA AND TARGET hitproof_cli)
  set(routes_kernel ${CMAKE_CURRENT_BINARY_DIR}/routes_kernel.o)
  set(arch_flags)
  foreach(arch IN ITEMS 80 90 100 120)
    list(APPEND arch_flags -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  add_custom_command(OUTPUT ${routes_kernel}
    COMMAND ${HITPROOF_NVCC} -c -std=c++20 -O2 -Xcompiler -fPIC -Werror all-warnings
      -ccbin ${CMAKE_CXX_COMPILER} ${arch_flags} -o ${routes_kernel}
      ${CMAKE_CURRENT_LIST_DIR}/routes/kernel.cu
    DEPENDS routes/kernel.cu VERBATIM)
  add_library(gpu_routes_parts OBJECT routes/main.cpp routes/ledger.cpp routes/copies.cpp
    routes/graphs.cpp routes/lookups.cpp routes/memory.cpp routes/orders.cpp routes/per_thread.cpp
    routes/sharing.cpp)
  target_link_libraries(gpu_routes_parts PUBLIC hitproof_options)
  target_include_directories(gpu_routes_parts SYSTEM PUBLIC ${HITPROOF_CUDA_INCLUDE})
  find_package(Python3 COMPONENTS Interpreter QUIET)
  function(hitproof_routes name)
    add_executable(${name} $<TARGET_OBJECTS:gpu_routes_parts> ${ARGN})
    target_link_libraries(${name} PRIVATE hitproof_options ${CMAKE_DL_LIBS} Threads::Threads rt)
    target_include_directories(${name} SYSTEM PRIVATE ${HITPROOF_CUDA_INCLUDE})
  endfunction()
  function(hitproof_routes_test name)
    if(Python3_FOUND)
      add_test(NAME ${name} COMMAND Python3::Interpreter
        ${CMAKE_CURRENT_LIST_DIR}/check_routes.py ${ARGN})
      set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS gpu)
    endif()
  endfunction()

  hitproof_routes(gpu_routes ${routes_kernel})
  target_link_libraries(gpu_routes PRIVATE CUDA::cudart)
  hitproof_routes_test(gpu_routes $<TARGET_FILE:hitproof_cli> $<TARGET_FILE:gpu_routes>)
  hitproof_routes(gpu_routes_static ${routes_kernel})
  target_link_libraries(gpu_routes_static PRIVATE CUDA::cudart_static)
  hitproof_routes_test(gpu_routes_static $<TARGET_FILE:hitproof_cli> $<TARGET_FILE:gpu_routes_static>)
  hitproof_routes(gpu_routes_driver ${routes_kernel} routes/linked_driver.cpp)
  target_link_libraries(gpu_routes_driver PRIVATE CUDA::cudart CUDA::cuda_driver)
  hitproof_routes_test(gpu_routes_driver --only linked_driver,linked_proc_address
    $<TARGET_FILE:hitproof_cli> $<TARGET_FILE:gpu_routes_driver>)

  # The same over the simulated device, but for what it does not have: a rehearsal of the checks.
  if(TARGET hitproof_sim_cudart AND NOT HITPROOF_SANITIZE)
    hitproof_routes(gpu_routes_on_sim routes/simulated.cpp routes/linked_driver.cpp)
    target_link_libraries(gpu_routes_on_sim PRIVATE hitproof_sim_cudart hitproof_sim_cuda)
    hitproof_routes_test(gpu_routes_on_sim --no-cross-check $<TARGET_FILE:hitproof_cli>
      $<TARGET_FILE:gpu_routes_on_sim>)
  endif()
endif()
