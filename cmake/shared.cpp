// SPDX-License-Identifier: Apache-2.0
//
// libpyptx.so is made of the layers' libraries (package.cmake); a library has a source of its own.
