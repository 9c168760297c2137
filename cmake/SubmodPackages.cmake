# Archives and packages of what is installed, by cpack: a tarball, and a package for Debian, which
# wants -DCMAKE_INSTALL_PREFIX=/usr. scripts/package.sh makes and tries both.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME libsubmod)
set(CPACK_PACKAGE_VENDOR "The libsubmod authors")
set(CPACK_PACKAGE_CONTACT "The libsubmod authors <maintainers@users.noreply.a-seed-d93ffaea.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # which libraries it needs, read from what was built
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # and that others may need it; the loader is told
include(CPack)
