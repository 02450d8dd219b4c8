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

# The completions are what the program prints; docs/hitproof.1 and docs/commands.md are too, and committed (make docs).
if(TARGET hitproof_cli)
  get_target_property(cli_sources hitproof_cli SOURCES)
endif()
if("cmd_completion.cpp" IN_LIST cli_sources)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  set(scripts "")
  foreach(shell IN ITEMS bash zsh fish)
    add_custom_command(OUTPUT ${completions}/hitproof.${shell}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
      COMMAND hitproof_cli completion ${shell} > ${completions}/hitproof.${shell}
      DEPENDS hitproof_cli VERBATIM)
    list(APPEND scripts ${completions}/hitproof.${shell})
  endforeach()
  add_custom_target(hitproof_completions ALL DEPENDS ${scripts})
  add_dependencies(programs hitproof_completions)
  add_dependencies(installable hitproof_completions)
  install(FILES ${completions}/hitproof.bash RENAME hitproof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/hitproof.zsh RENAME _hitproof DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/hitproof.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES docs/hitproof.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.json")
