// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import ServiceKit
import Settings

/// The addresses of the status pages of a pipeline's processes.
struct StatusSource: DeclaredSettings, Sendable {
  @Declared(
    .path(
      "addresses",
      "The file addresses.json that martlet up writes to its folder; its processes are shown. Without it, and without a URL,"
        + " \(usual)."))
  private var addressesFile: String?
  private var urls: [String] = []
  private var names = ProcessNames()
  /// The file of `martlet up --dir martlet-up` in the same folder.
  private static let usual = "martlet-up/addresses.json"

  static let operands = SettingTable.Operands(
    "URL", 0...1_000,
    "Base addresses of status pages (--http of each process), such as http://10.0.0.5:9464.")

  init() {}

  init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    urls = values.operands.map { url in
      let full = url.contains("://") ? url : "http://" + url
      return full.hasSuffix("/") ? String(full.dropLast()) : full
    }
    if addressesFile == nil, urls.isEmpty, File.exists(Self.usual) { addressesFile = Self.usual }
    guard addressesFile != nil || !urls.isEmpty else {
      throw values.error(
        "addresses",
        "no process is named, and there is no \(Self.usual) here: name the addresses.json that martlet up writes to its folder"
          + " (--addresses FILE, or MARTLET_ADDRESSES), or the URLs of status pages, which processes log at their start and"
          + " --http sets"
      )
    }
  }

  /// Reads every process, several at a time, so that hanging ones do not delay the readings of others. The file is read
  /// again each time, because a restarted process has its pages elsewhere.
  func read() throws(ServiceFailure) -> [ProcessReading] {
    let pages = try addressesFile.map(Self.pages) ?? []
    let readings = ProcessSurvey(pages + urls.map { (nil, $0) }).run()
    return readings.prefix(pages.count)
      + zip(urls, readings.dropFirst(pages.count)).map { names.named($1, at: $0) }
  }

  private static func pages(
    _ file: String
  ) throws(ServiceFailure) -> [(name: String?, url: String)] {
    do {
      let metrics = try JSONDocument(try File.read(file)).root["metrics"]?.object
      guard let metrics else {
        throw ServiceFailure(
          "\(file) has no object \"metrics\": is it addresses.json of martlet up?")
      }
      return metrics.members.compactMap { member in
        member.value.string.map { (member.key, $0) }
      }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(file): \(error); it is there while martlet up runs")
    }
  }
}
