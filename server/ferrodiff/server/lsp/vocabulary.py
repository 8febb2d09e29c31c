"""What this server uses of the protocol, as a table.

A class is the list of its properties, ``name:type``, in the order of the specification. ``?`` marks one
that may be left out, and ``name=text`` one whose text is fixed. Types are names of this table, ``[T]`` a list,
``T|U`` a choice, and ``any`` what is taken as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping

CLASSES: Mapping[str, str] = {
    "CallHierarchyIncomingCall": "from:CallHierarchyItem fromRanges:[Range]",
    "CallHierarchyIncomingCallsParams": (
        "item:CallHierarchyItem workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "CallHierarchyItem": (
        "name:string kind:SymbolKind uri:string range:Range selectionRange:Range tags?:any "
        "detail?:string data?:any"
    ),
    "CallHierarchyOutgoingCall": "to:CallHierarchyItem fromRanges:[Range]",
    "CallHierarchyOutgoingCallsParams": (
        "item:CallHierarchyItem workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "CallHierarchyPrepareParams": (
        "textDocument:TextDocumentIdentifier position:Position workDoneToken?:int|string"
    ),
    "CancelParams": "id:int|string",
    "CodeAction": (
        "title:string kind?:string diagnostics?:any isPreferred?:bool disabled?:any edit?:any "
        "command?:Command data?:any tags?:any"
    ),
    "CodeActionContext": "diagnostics:any only?:[string] triggerKind?:CodeActionTriggerKind",
    "CodeActionParams": (
        "textDocument:TextDocumentIdentifier range:Range context:CodeActionContext "
        "workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "CodeDescription": "href:string",
    "CodeLens": "range:Range command?:Command data?:any",
    "CodeLensParams": (
        "textDocument:TextDocumentIdentifier workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "Command": "title:string command:string tooltip?:string arguments?:[any]",
    "CompletionItem": (
        "label:string labelDetails?:any kind?:CompletionItemKind|int tags?:any detail?:string "
        "documentation?:string|MarkupContent deprecated?:bool preselect?:bool sortText?:string "
        "filterText?:string insertText?:string insertTextFormat?:InsertTextFormat "
        "insertTextMode?:any textEdit?:any textEditText?:string additionalTextEdits?:[TextEdit] "
        "commitCharacters?:[string] command?:Command data?:any"
    ),
    "CompletionList": "isIncomplete:bool items:[CompletionItem] itemDefaults?:any applyKind?:any",
    "CompletionParams": (
        "textDocument:TextDocumentIdentifier position:Position context?:any "
        "workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "ConfigurationItem": "scopeUri?:string section?:string",
    "ConfigurationParams": "items:[ConfigurationItem]",
    "CreateFilesParams": "files:[FileCreate]",
    "DefinitionParams": (
        "textDocument:TextDocumentIdentifier position:Position workDoneToken?:int|string "
        "partialResultToken?:int|string"
    ),
    "DeleteFilesParams": "files:[FileDelete]",
    "Diagnostic": (
        "range:Range message:string severity?:DiagnosticSeverity code?:int|string "
        "codeDescription?:CodeDescription source?:string tags?:any "
        "relatedInformation?:[DiagnosticRelatedInformation] data?:any"
    ),
    "DiagnosticRelatedInformation": "location:Location message:string",
    "DidChangeConfigurationParams": "settings:any",
    "DidChangeConfigurationRegistrationOptions": "section?:string|[string]",
    "DidChangeTextDocumentParams": (
        "textDocument:VersionedTextDocumentIdentifier "
        "contentChanges:[TextDocumentContentChangePartial|TextDocumentContentChangeWholeDocument]"
    ),
    "DidChangeWatchedFilesParams": "changes:[FileEvent]",
    "DidChangeWatchedFilesRegistrationOptions": "watchers:[FileSystemWatcher]",
    "DidChangeWorkspaceFoldersParams": "event:WorkspaceFoldersChangeEvent",
    "DidCloseTextDocumentParams": "textDocument:TextDocumentIdentifier",
    "DidOpenTextDocumentParams": "textDocument:TextDocumentItem",
    "DidSaveTextDocumentParams": "textDocument:TextDocumentIdentifier text?:string",
    "DocumentDiagnosticParams": (
        "textDocument:TextDocumentIdentifier identifier?:string previousResultId?:string "
        "workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "DocumentHighlight": "range:Range kind?:DocumentHighlightKind",
    "DocumentHighlightParams": (
        "textDocument:TextDocumentIdentifier position:Position workDoneToken?:int|string "
        "partialResultToken?:int|string"
    ),
    "DocumentSymbol": (
        "name:string kind:SymbolKind range:Range selectionRange:Range detail?:string tags?:any "
        "deprecated?:bool children?:[DocumentSymbol]"
    ),
    "DocumentSymbolParams": (
        "textDocument:TextDocumentIdentifier workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "ExecuteCommandParams": "command:string arguments?:[any] workDoneToken?:int|string",
    "FileCreate": "uri:string",
    "FileDelete": "uri:string",
    "FileEvent": "uri:string type:FileChangeType",
    "FileRename": "oldUri:string newUri:string",
    "FileSystemWatcher": "globPattern:any kind?:WatchKind|int",
    "FoldingRange": (
        "startLine:uint endLine:uint startCharacter?:int endCharacter?:int kind?:string collapsedText?:string"
    ),
    "FoldingRangeParams": (
        "textDocument:TextDocumentIdentifier workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "Hover": "contents:MarkupContent range?:Range",
    "HoverParams": "textDocument:TextDocumentIdentifier position:Position workDoneToken?:int|string",
    "InitializeParams": (
        "capabilities:object processId?:int clientInfo?:any locale?:any rootPath?:string rootUri?:string "
        "initializationOptions?:any trace?:any workDoneToken?:any workspaceFolders?:[WorkspaceFolder]"
    ),
    "InitializedParams": "",
    "InlayHint": (
        "position:Position label:string|[InlayHintLabelPart] kind?:InlayHintKind "
        "textEdits?:[TextEdit] tooltip?:string|MarkupContent paddingLeft?:bool paddingRight?:bool "
        "data?:any"
    ),
    "InlayHintLabelPart": "value:string tooltip?:string|MarkupContent location?:Location command?:Command",
    "InlayHintParams": "textDocument:TextDocumentIdentifier range:Range workDoneToken?:int|string",
    "Location": "uri:string range:Range",
    "MarkedStringWithLanguage": "language:string value:string",
    "MarkupContent": "kind:MarkupKind value:string",
    "ParameterInformation": "label:string|[uint] documentation?:string|MarkupContent",
    "Position": "line:uint character:uint",
    "PrepareRenameParams": "textDocument:TextDocumentIdentifier position:Position workDoneToken?:int|string",
    "PrepareRenamePlaceholder": "range:Range placeholder:string",
    "PreviousResultId": "uri:string value:string",
    "ProgressParams": "token:int|string value:any",
    "PublishDiagnosticsParams": "uri:string diagnostics:[Diagnostic] version?:int",
    "Range": "start:Position end:Position",
    "ReferenceContext": "includeDeclaration:bool",
    "ReferenceParams": (
        "context:ReferenceContext textDocument:TextDocumentIdentifier position:Position "
        "workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "Registration": "id:string method:string registerOptions?:any",
    "RegistrationParams": "registrations:[Registration]",
    "RelatedFullDocumentDiagnosticReport": (
        "items:[Diagnostic] relatedDocuments?:any kind=full resultId?:string"
    ),
    "RelatedUnchangedDocumentDiagnosticReport": "resultId:string relatedDocuments?:any kind=unchanged",
    "RenameFilesParams": "files:[FileRename]",
    "RenameParams": (
        "textDocument:TextDocumentIdentifier position:Position newName:string workDoneToken?:int|string"
    ),
    "SelectionRange": "range:Range parent?:SelectionRange",
    "SelectionRangeParams": (
        "textDocument:TextDocumentIdentifier positions:[Position] workDoneToken?:int|string "
        "partialResultToken?:int|string"
    ),
    "SemanticTokens": "data:[int] resultId?:string",
    "SemanticTokensParams": (
        "textDocument:TextDocumentIdentifier workDoneToken?:int|string partialResultToken?:int|string"
    ),
    "SemanticTokensRangeParams": (
        "textDocument:TextDocumentIdentifier range:Range workDoneToken?:int|string "
        "partialResultToken?:int|string"
    ),
    "SetTraceParams": "value:TraceValue",
    "ShowDocumentParams": "uri:string external?:bool takeFocus?:bool selection?:Range",
    "ShowMessageParams": "type:MessageType message:string",
    "SignatureHelp": "signatures:[SignatureInformation] activeSignature?:uint activeParameter?:uint",
    "SignatureHelpParams": (
        "textDocument:TextDocumentIdentifier position:Position context?:any workDoneToken?:int|string"
    ),
    "SignatureInformation": (
        "label:string documentation?:string|MarkupContent parameters?:[ParameterInformation] "
        "activeParameter?:uint"
    ),
    "SymbolInformation": (
        "location:Location name:string kind:SymbolKind deprecated?:bool tags?:any containerName?:string"
    ),
    "TextDocumentContentChangePartial": "range:Range text:string rangeLength?:int",
    "TextDocumentContentChangeWholeDocument": "text:string",
    "TextDocumentContentParams": "uri:string",
    "TextDocumentContentRefreshParams": "uri:string",
    "TextDocumentContentResult": "text:string",
    "TextDocumentIdentifier": "uri:string",
    "TextDocumentItem": "uri:string languageId:string version:int text:string",
    "TextEdit": "range:Range newText:string",
    "VersionedTextDocumentIdentifier": "version:int uri:string",
    "WorkDoneProgressBegin": "title:string kind=begin cancellable?:bool message?:string percentage?:int",
    "WorkDoneProgressCancelParams": "token:int|string",
    "WorkDoneProgressCreateParams": "token:int|string",
    "WorkDoneProgressEnd": "kind=end message?:string",
    "WorkDoneProgressReport": "kind=report cancellable?:bool message?:string percentage?:int",
    "WorkspaceDiagnosticParams": (
        "previousResultIds:[PreviousResultId] identifier?:string workDoneToken?:int|string "
        "partialResultToken?:int|string"
    ),
    "WorkspaceDiagnosticReport": (
        "items:[WorkspaceFullDocumentDiagnosticReport|WorkspaceUnchangedDocumentDiagnosticReport]"
    ),
    "WorkspaceEdit": "changes?:{[TextEdit]} documentChanges?:any changeAnnotations?:any",
    "WorkspaceFolder": "uri:string name:string",
    "WorkspaceFoldersChangeEvent": "added:[WorkspaceFolder] removed:[WorkspaceFolder]",
    "WorkspaceFullDocumentDiagnosticReport": (
        "uri:string items:[Diagnostic] version:int|null kind=full resultId?:string"
    ),
    "WorkspaceSymbolParams": "query:string workDoneToken?:int|string partialResultToken?:int|string",
    "WorkspaceUnchangedDocumentDiagnosticReport": (
        "uri:string resultId:string version:int|null kind=unchanged"
    ),
}
ENUMS: Mapping[str, str] = {
    "CodeActionKind": (
        "Empty= QuickFix=quickfix Refactor=refactor RefactorExtract=refactor.extract "
        "RefactorInline=refactor.inline RefactorMove=refactor.move RefactorRewrite=refactor.rewrite "
        "Source=source SourceOrganizeImports=source.organizeImports SourceFixAll=source.fixAll "
        "Notebook=notebook"
    ),
    "CodeActionTriggerKind": "Invoked=1 Automatic=2",
    "CompletionItemKind": (
        "Text=1 Method=2 Function=3 Constructor=4 Field=5 Variable=6 Class=7 Interface=8 Module=9 "
        "Property=10 Unit=11 Value=12 Enum=13 Keyword=14 Snippet=15 Color=16 File=17 Reference=18 "
        "Folder=19 EnumMember=20 Constant=21 Struct=22 Event=23 Operator=24 TypeParameter=25"
    ),
    "DiagnosticSeverity": "Error=1 Warning=2 Information=3 Hint=4",
    "DiagnosticTag": "Unnecessary=1 Deprecated=2",
    "DocumentHighlightKind": "Text=1 Read=2 Write=3",
    "FileChangeType": "Created=1 Changed=2 Deleted=3",
    "FoldingRangeKind": "Comment=comment Imports=imports Region=region",
    "InlayHintKind": "Type=1 Parameter=2",
    "InsertTextFormat": "PlainText=1 Snippet=2",
    "MarkupKind": "PlainText=plaintext Markdown=markdown",
    "MessageType": "Error=1 Warning=2 Info=3 Log=4 Debug=5",
    "SymbolKind": (
        "File=1 Module=2 Namespace=3 Package=4 Class=5 Method=6 Property=7 Field=8 Constructor=9 "
        "Enum=10 Interface=11 Function=12 Variable=13 Constant=14 String=15 Number=16 Boolean=17 "
        "Array=18 Object=19 Key=20 Null=21 EnumMember=22 Struct=23 Event=24 Operator=25 "
        "TypeParameter=26"
    ),
    "TraceValue": "Off=off Messages=messages Verbose=verbose",
    "WatchKind": "Create=1 Change=2 Delete=4",
}
METHODS: Mapping[str, tuple[str, str]] = {
    "CALL_HIERARCHY_INCOMING_CALLS": ("callHierarchy/incomingCalls", "CallHierarchyIncomingCallsParams"),
    "CALL_HIERARCHY_OUTGOING_CALLS": ("callHierarchy/outgoingCalls", "CallHierarchyOutgoingCallsParams"),
    "CANCEL_REQUEST": ("$/cancelRequest", "CancelParams"),
    "CLIENT_REGISTER_CAPABILITY": ("client/registerCapability", "RegistrationParams"),
    "EXIT": ("exit", "any"),
    "INITIALIZE": ("initialize", "InitializeParams"),
    "INITIALIZED": ("initialized", "InitializedParams"),
    "PROGRESS": ("$/progress", "ProgressParams"),
    "SET_TRACE": ("$/setTrace", "SetTraceParams"),
    "SHUTDOWN": ("shutdown", "any"),
    "TEXT_DOCUMENT_CODE_ACTION": ("textDocument/codeAction", "CodeActionParams"),
    "TEXT_DOCUMENT_CODE_LENS": ("textDocument/codeLens", "CodeLensParams"),
    "TEXT_DOCUMENT_COMPLETION": ("textDocument/completion", "CompletionParams"),
    "TEXT_DOCUMENT_DEFINITION": ("textDocument/definition", "DefinitionParams"),
    "TEXT_DOCUMENT_DIAGNOSTIC": ("textDocument/diagnostic", "DocumentDiagnosticParams"),
    "TEXT_DOCUMENT_DID_CHANGE": ("textDocument/didChange", "DidChangeTextDocumentParams"),
    "TEXT_DOCUMENT_DID_CLOSE": ("textDocument/didClose", "DidCloseTextDocumentParams"),
    "TEXT_DOCUMENT_DID_OPEN": ("textDocument/didOpen", "DidOpenTextDocumentParams"),
    "TEXT_DOCUMENT_DID_SAVE": ("textDocument/didSave", "DidSaveTextDocumentParams"),
    "TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT": ("textDocument/documentHighlight", "DocumentHighlightParams"),
    "TEXT_DOCUMENT_DOCUMENT_SYMBOL": ("textDocument/documentSymbol", "DocumentSymbolParams"),
    "TEXT_DOCUMENT_FOLDING_RANGE": ("textDocument/foldingRange", "FoldingRangeParams"),
    "TEXT_DOCUMENT_HOVER": ("textDocument/hover", "HoverParams"),
    "TEXT_DOCUMENT_INLAY_HINT": ("textDocument/inlayHint", "InlayHintParams"),
    "TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY": (
        "textDocument/prepareCallHierarchy",
        "CallHierarchyPrepareParams",
    ),
    "TEXT_DOCUMENT_PREPARE_RENAME": ("textDocument/prepareRename", "PrepareRenameParams"),
    "TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS": ("textDocument/publishDiagnostics", "PublishDiagnosticsParams"),
    "TEXT_DOCUMENT_REFERENCES": ("textDocument/references", "ReferenceParams"),
    "TEXT_DOCUMENT_RENAME": ("textDocument/rename", "RenameParams"),
    "TEXT_DOCUMENT_SELECTION_RANGE": ("textDocument/selectionRange", "SelectionRangeParams"),
    "TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL": ("textDocument/semanticTokens/full", "SemanticTokensParams"),
    "TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE": ("textDocument/semanticTokens/range", "SemanticTokensRangeParams"),
    "TEXT_DOCUMENT_SIGNATURE_HELP": ("textDocument/signatureHelp", "SignatureHelpParams"),
    "WINDOW_SHOW_DOCUMENT": ("window/showDocument", "ShowDocumentParams"),
    "WINDOW_SHOW_MESSAGE": ("window/showMessage", "ShowMessageParams"),
    "WINDOW_WORK_DONE_PROGRESS_CANCEL": ("window/workDoneProgress/cancel", "WorkDoneProgressCancelParams"),
    "WINDOW_WORK_DONE_PROGRESS_CREATE": ("window/workDoneProgress/create", "WorkDoneProgressCreateParams"),
    "WORKSPACE_CODE_LENS_REFRESH": ("workspace/codeLens/refresh", "any"),
    "WORKSPACE_CONFIGURATION": ("workspace/configuration", "ConfigurationParams"),
    "WORKSPACE_DIAGNOSTIC": ("workspace/diagnostic", "WorkspaceDiagnosticParams"),
    "WORKSPACE_DIAGNOSTIC_REFRESH": ("workspace/diagnostic/refresh", "any"),
    "WORKSPACE_DID_CHANGE_CONFIGURATION": (
        "workspace/didChangeConfiguration",
        "DidChangeConfigurationParams",
    ),
    "WORKSPACE_DID_CHANGE_WATCHED_FILES": ("workspace/didChangeWatchedFiles", "DidChangeWatchedFilesParams"),
    "WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS": (
        "workspace/didChangeWorkspaceFolders",
        "DidChangeWorkspaceFoldersParams",
    ),
    "WORKSPACE_DID_CREATE_FILES": ("workspace/didCreateFiles", "CreateFilesParams"),
    "WORKSPACE_DID_DELETE_FILES": ("workspace/didDeleteFiles", "DeleteFilesParams"),
    "WORKSPACE_DID_RENAME_FILES": ("workspace/didRenameFiles", "RenameFilesParams"),
    "WORKSPACE_EXECUTE_COMMAND": ("workspace/executeCommand", "ExecuteCommandParams"),
    "WORKSPACE_INLAY_HINT_REFRESH": ("workspace/inlayHint/refresh", "any"),
    "WORKSPACE_SYMBOL": ("workspace/symbol", "WorkspaceSymbolParams"),
    "WORKSPACE_TEXT_DOCUMENT_CONTENT": ("workspace/textDocumentContent", "TextDocumentContentParams"),
    "WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH": (
        "workspace/textDocumentContent/refresh",
        "TextDocumentContentRefreshParams",
    ),
}
"""Constant to method and the type of its parameters."""
