# cmake --install: everything that `make programs` builds, where a system looks for it.
#
# The programs find their libraries by ../lib/hitproof beside themselves, so that folder has this name under every
# prefix, whatever the system calls its folder of libraries. libtorch stays where it was found at configuration.
include(GNUInstallDirs)
set(private_libraries lib/hitproof)
# Builds what is installed: the programs, and the device's kernels where there is a CUDA toolkit.
add_custom_target(installable)

foreach(program IN ITEMS hitproof_cli hitproof-engine)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    add_dependencies(installable ${program})
  endif()
endforeach()
foreach(library IN ITEMS hitproof_probe hitproof_model_cuda hitproof_matmul)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${private_libraries})
    add_dependencies(installable ${library})
  endif()
endforeach()
foreach(library IN ITEMS hitproof_sim_cuda hitproof_sim_cudart)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${private_libraries}/sim)
    add_dependencies(installable ${library})
  endif()
endforeach()

# For programs that announce what their bytes mean; there is no library to link.
install(FILES probes/hitproof.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TARGET hitproof_completions)
  add_dependencies(installable hitproof_completions)
  set(completions ${CMAKE_BINARY_DIR}/cli/completions)
  install(FILES ${completions}/hitproof.bash RENAME hitproof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/hitproof.zsh RENAME _hitproof DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/hitproof.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES docs/hitproof.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.json")
