// SPDX-License-Identifier: Apache-2.0

/// The files of the console's page, in UTF-8.
///
/// They are a module of their own because SwiftPM makes array literals of them, which take the compiler much longer than
/// a string literal would: only a change of one of them takes that time again.
public enum ConsoleFile {
  public static var page: [UInt8] { PackageResources.console_html }
  public static var style: [UInt8] { PackageResources.console_css }
  public static var script: [UInt8] { PackageResources.console_js }
}
